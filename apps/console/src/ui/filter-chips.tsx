import { X } from 'lucide-react';

/** Filters that no field shows, as chips that can be removed. */
export function FilterChips<F extends string>({
  filter,
  without,
  onRemove,
}: {
  filter: Readonly<Partial<Record<F, string>>>;
  /** Filters that have their own field. */
  without: readonly F[];
  onRemove: (name: F) => void;
}) {
  const names = Object.keys(filter).filter(
    (name): name is F & string => !without.some((one) => one === name),
  );
  if (names.length === 0) return null;
  return (
    <ul aria-label="More filters" className="flex flex-wrap gap-1.5 self-center">
      {names.map((name) => (
        <li key={name} className="inline-flex items-center rounded-full bg-accent-soft pl-2.5 text-accent">
          <span className="mono max-w-72 truncate">
            {name}: {filter[name]}
          </span>
          <button
            type="button"
            aria-label={`Remove the filter ${name}`}
            className="inline-flex size-6.5 items-center justify-center rounded-full hover:bg-sunken"
            onClick={() => onRemove(name)}
          >
            <X aria-hidden="true" className="size-3.5" />
          </button>
        </li>
      ))}
    </ul>
  );
}
