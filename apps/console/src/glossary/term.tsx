import type { ReactNode } from 'react';
import { Popover } from '../ui/popover.tsx';
import { TERMS, type TermName } from './terms.ts';

/** A word with its meaning, which a click, a tap, Enter or the mouse above it shows; Escape closes it. */
export function Term({ of, children }: { of: TermName; children: ReactNode }) {
  const { title, says } = TERMS[of];
  return (
    <Popover
      label={title}
      trigger={
        <button
          type="button"
          title={says}
          className="inline cursor-help rounded underline decoration-dotted underline-offset-3 hover:text-text"
        >
          {children}
        </button>
      }
    >
      <p className="max-w-72 font-medium">{title}</p>
      <p className="mt-1 max-w-72 text-muted">{says}</p>
    </Popover>
  );
}
