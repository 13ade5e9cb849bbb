import type { KnownSince } from '@tidegate/protocol/package-history-api';
import { CircleHelp } from 'lucide-react';
import { MANAGERS } from '../hosts/package-managers.ts';

/** What is not known of the day that was asked for, and from when on it is. */
export function TooOld({ ecosystems }: { ecosystems: readonly KnownSince[] }) {
  const unknown = ecosystems.filter(({ known }) => !known);
  if (unknown.length === 0) return null;
  return (
    <div role="status" className="flex gap-2 rounded-lg bg-unknown-soft px-4 py-3">
      <CircleHelp aria-hidden="true" className="mt-0.5 size-4 shrink-0 text-unknown" />
      <div className="space-y-1">
        <p className="font-medium">
          {unknown.length === ecosystems.length
            ? 'What was installed on that day is not known.'
            : 'Not everything of that day is known.'}
        </p>
        <ul>
          {unknown.map(({ ecosystem, known_since: since }) => (
            <li key={ecosystem}>
              {MANAGERS[ecosystem]}:{' '}
              {since === null
                ? 'the first report is still being stored'
                : `known since ${since.slice(0, 10)}, ${since.slice(11, 16)} UTC`}
            </li>
          ))}
        </ul>
        <p className="text-muted">
          The server keeps changes for 180 days, and the newest 5,000 of a host. Choose a later day.
        </p>
      </div>
    </div>
  );
}
