import { Link } from '@tanstack/react-router';
import { Check } from 'lucide-react';
import { Panel } from '../ui/page.tsx';
import type { Act } from './acts-rules.ts';
import type { Tone } from './overview-rules.ts';

const BARS: Readonly<Record<Tone, string>> = {
  bad: 'bg-bad',
  warn: 'bg-warn',
  unknown: 'bg-unknown',
  plain: 'bg-line-strong',
};

/** What there is to do, the most urgent first, each with the way to do it. */
export function ActList({ acts }: { acts: readonly Act[] }) {
  return (
    <Panel title="To do">
      {acts.length === 0 ? (
        <p className="flex items-center gap-2 font-medium text-good">
          <Check aria-hidden="true" className="size-4" />
          Nothing needs you.
        </p>
      ) : (
        <ol aria-label="Acts" className="-my-2 divide-y divide-line">
          {acts.map((act) => (
            <li key={act.id} className="flex items-center gap-3 py-2.5">
              <span aria-hidden="true" className={`w-1 self-stretch rounded ${BARS[act.tone]}`} />
              <span className="min-w-0 flex-1 wrap-anywhere">
                <span className="block font-medium">{act.text}</span>
                <span className="block text-muted">{act.why}</span>
              </span>
              <Link
                to={act.place.to}
                search={act.place.search}
                aria-label={`${act.button}: ${act.text}`}
                className="inline-flex min-h-8 shrink-0 items-center rounded-md border border-line-strong/60 bg-raised px-3 py-1 font-medium text-text no-underline hover:bg-sunken hover:no-underline"
              >
                {act.button}
              </Link>
            </li>
          ))}
        </ol>
      )}
    </Panel>
  );
}
