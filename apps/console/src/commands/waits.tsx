import { Link } from '@tanstack/react-router';
import type { Wait } from '@tidegate/protocol/progress-api';
import type { ReactNode } from 'react';
import { Time } from '../ui/time.tsx';

/** What something waits for, the first thing that has to change first, in the server's words. */
export function Waits({ waits }: { waits: readonly Wait[] }) {
  if (waits.length === 0) return null;
  return (
    <ul aria-label="Waits for" className="space-y-1">
      {waits.map((wait, index) => (
        <li key={`${wait.kind} ${wait.id}`}>
          <p className="wrap-anywhere">
            {index === 0 ? 'Waits for' : 'Also for'} <bdi>{wait.text}</bdi>
            {wait.since !== null && (
              <>
                {' '}
                (begun <Time at={wait.since} />)
              </>
            )}
            {wait.until !== null && (
              <>
                {' '}
                (<Time at={wait.until} />)
              </>
            )}
            . <Cause wait={wait} />
          </p>
        </li>
      ))}
    </ul>
  );
}

/** Leads to what is waited for, where that has a page. */
function Cause({ wait: { kind, id } }: { wait: Wait }): ReactNode {
  if (kind === 'reboot') return <Link to="/reboots">See the reboots</Link>;
  if (id === null) return null;
  switch (kind) {
    case 'hold':
      return <Link to="/holds">See the holds</Link>;
    case 'blackout':
      return <Link to="/blackouts">See the blackouts</Link>;
    case 'ring':
      return (
        <Link to="/rollouts/$id" params={{ id }}>
          See the rollout
        </Link>
      );
    case 'second_signature':
      return (
        <Link to="/updates/$id" params={{ id }}>
          Add it on the page of the update
        </Link>
      );
    case 'other_command':
      return (
        <Link to="/commands/$id" params={{ id }}>
          See that command
        </Link>
      );
    case 'host_revoked':
    case 'host_offline':
    case 'restart':
      return (
        <Link to="/hosts/$id" params={{ id }}>
          See the host
        </Link>
      );
    case 'plan':
    case 'decision':
    case 'time':
    case 'check_in':
    case 'receipt':
    case 'start':
    case 'download':
    case 'installation':
    case 'end':
      return null;
  }
}
