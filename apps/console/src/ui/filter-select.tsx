import { Select } from './field.tsx';

/** A select for one filter of a list; no choice means everything. */
export function FilterSelect({
  label,
  value,
  choices,
  any = 'any',
  onChoose,
}: {
  label: string;
  value: string | undefined;
  /** The choices with their labels. */
  choices: Readonly<Record<string, string>>;
  /** What no choice means. */
  any?: string;
  onChoose: (value: string | undefined) => void;
}) {
  return (
    <div className="w-[calc(50%-0.25rem)] sm:w-auto sm:min-w-32 sm:max-w-56">
      <Select
        label={label}
        value={value ?? ''}
        onChange={({ target }) => onChoose(target.value === '' ? undefined : target.value)}
      >
        <option value="">{any}</option>
        {Object.entries(choices).map(([choice, word]) => (
          <option key={choice} value={choice}>
            {word}
          </option>
        ))}
      </Select>
    </div>
  );
}
