import { Link } from '@tanstack/react-router';
import type { PolicyPreview } from '@tidegate/protocol/policies-api';
import { Fold } from '../ui/fold.tsx';
import { Time } from '../ui/time.tsx';
import { missedText } from './policy-rules.ts';

/** The hosts that fetched nothing of what was approved for them in the last window, and what becomes of them. */
export function MissedWindow({ missed }: { missed: NonNullable<PolicyPreview['missed']> }) {
  const { window, hosts, hosts_shown: shown, catch_up_until: until } = missed;
  return (
    <div className="mt-3 space-y-1">
      <p>
        {missedText(missed)} That window ended <Time at={window.closes_at} />
        {until && (
          <>
            ; latest start: <Time at={until} />
          </>
        )}
        .
      </p>
      <Fold summary="Hosts that missed it">
        <ul className="flex max-h-40 flex-wrap gap-x-4 overflow-auto">
          {shown.map(({ agent_id: id, hostname }) => (
            <li key={id}>
              <Link to="/hosts/$id" params={{ id }} className="inline-block min-h-7 leading-7 break-all">
                {hostname}
              </Link>
            </li>
          ))}
        </ul>
        {hosts > shown.length && <p className="text-muted">The first {shown.length} by name.</p>}
      </Fold>
    </div>
  );
}
