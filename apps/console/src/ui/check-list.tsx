import { useId } from 'react';

/** Boxes of which any number may be checked. */
export function CheckList<K extends string>({
  legend,
  choices,
  chosen,
  onChange,
  hint,
  error,
}: {
  legend: string;
  /** Values with their words, in the order shown. */
  choices: readonly (readonly [value: K, word: string])[];
  chosen: readonly K[];
  onChange: (chosen: readonly K[]) => void;
  hint?: string;
  /** The server's message about the choice. */
  error?: string | undefined;
}) {
  const id = useId();
  const notes = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ');
  return (
    <fieldset className="space-y-1" {...(notes ? { 'aria-describedby': notes } : {})}>
      <legend className="font-medium">{legend}</legend>
      <div className="flex flex-wrap gap-x-4 gap-y-2">
        {choices.map(([value, word]) => (
          <label key={value} className="flex min-h-6 items-center gap-2">
            <input
              type="checkbox"
              className="size-4 shrink-0"
              checked={chosen.includes(value)}
              onChange={({ target: { checked } }) =>
                // In the order of the choices, so that the same choice is always the same list.
                onChange(
                  choices
                    .map(([one]) => one)
                    .filter((one) => (one === value ? checked : chosen.includes(one))),
                )
              }
            />
            {word}
          </label>
        ))}
      </div>
      {hint && (
        <p id={`${id}-hint`} className="text-[0.9rem] text-muted">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} tabIndex={-1} data-fault className="text-[0.9rem] text-bad">
          {error}
        </p>
      )}
    </fieldset>
  );
}
