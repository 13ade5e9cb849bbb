import { isolated } from '@tidegate/protocol/isolated';
import { X } from 'lucide-react';

/** The parts of a filter, as chips that remove them. */
export function FilterChips<F extends string>({
  filter,
  without = [],
  names,
  words,
  onRemove,
  onClear,
}: {
  filter: Readonly<Partial<Record<F, string>>>;
  /** Filters that have their own field, which shows them. */
  without?: readonly F[];
  /** What the filters are called; by themselves by their own names. */
  names?: Readonly<Partial<Record<F, string>>>;
  /** What filters say that have one value only. */
  words?: Readonly<Partial<Record<F, string>>>;
  onRemove: (name: F) => void;
  /** Removes all of them; offered where there is more than one, which then have a line to themselves. */
  onClear?: () => void;
}) {
  const shown = Object.keys(filter).filter(
    (name): name is F & string => !without.some((one) => one === name),
  );
  if (shown.length === 0) return null;
  return (
    <ul
      aria-label="Active filters"
      className={`flex flex-wrap items-center gap-1.5 ${onClear ? 'w-full' : 'self-center'}`}
    >
      {shown.map((name) => {
        const text = words?.[name] ?? `${names?.[name] ?? name}: ${isolated(filter[name] ?? '')}`;
        return (
          <li key={name}>
            <button
              type="button"
              onClick={() => onRemove(name)}
              title={`Remove the filter ${text}`}
              className="inline-flex min-h-7 max-w-80 items-center gap-1 rounded-full bg-accent-soft px-2.5 text-[0.9rem] text-accent hover:brightness-95"
            >
              <span className="sr-only">Remove the filter </span>
              <span className="truncate">{text}</span>
              <X aria-hidden="true" className="size-3.5 shrink-0" />
            </button>
          </li>
        );
      })}
      {onClear && shown.length > 1 && (
        <li>
          <button
            type="button"
            onClick={onClear}
            className="min-h-7 px-1.5 text-[0.9rem] text-muted underline hover:text-text"
          >
            Clear all
          </button>
        </li>
      )}
    </ul>
  );
}
