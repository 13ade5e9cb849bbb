import type { ReactNode } from 'react';
import { Time } from './time.tsx';

/** What a list of counted things knows, and when it was counted; `at` is null before the first count. */
export function CoverageNote({ at, children }: { at: string | null; children: ReactNode }) {
  return (
    <p role="status" className="mb-3 rounded-lg border border-line bg-surface px-4 py-2">
      {children}
      {at !== null && (
        <>
          {' '}
          Counted <Time at={at} />.
        </>
      )}
    </p>
  );
}
