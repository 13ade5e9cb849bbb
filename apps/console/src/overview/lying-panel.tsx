import { Link } from '@tanstack/react-router';
import type { Overview } from '@tidegate/protocol/overview-api';
import { CircleCheck, CircleHelp, TriangleAlert } from 'lucide-react';
import { AdvisoryBadge } from '../ui/advisory-badge.tsx';
import { Panel } from '../ui/page.tsx';
import { duration } from '../ui/relative-time-rules.ts';
import { Time } from '../ui/time.tsx';
import { FigureList, StateRow } from './figure-list.tsx';
import { lying } from './overview-rules.ts';

const GOOD = <CircleCheck className="text-good" />;
const WARNING = <TriangleAlert className="text-warn" />;

/** Whether what is shown can be believed: identities, verdicts, data, clock, and the database itself. */
export function LyingPanel({ overview }: { overview: Overview }) {
  const { advisories, clock, restore } = overview.lying;
  const isCurrent = advisories.status === 'ok' && advisories.stale.length === 0;
  return (
    <Panel title="Is anything lying?">
      <FigureList rows={lying(overview)}>
        <StateRow icon={isCurrent ? GOOD : <CircleHelp className="text-unknown" />}>
          Advisories <AdvisoryBadge status={advisories.status} />
          {advisories.data_as_of !== null && (
            <span className="text-muted">
              {' '}
              oldest data of <Time at={advisories.data_as_of} />
            </span>
          )}
        </StateRow>
        {advisories.stale.map(({ ecosystem, since }) => (
          <StateRow key={ecosystem} icon={WARNING}>
            {ecosystem} too old to judge by, since <Time at={since} />
          </StateRow>
        ))}
        <StateRow icon={clock.ok ? GOOD : WARNING}>
          {clock.ok
            ? 'Clock of the server as expected'
            : `Clock of the server ${duration(clock.behind_seconds * 1_000)} behind what was written before`}
        </StateRow>
        <StateRow icon={restore.detected_at === null ? GOOD : WARNING}>
          {restore.detected_at === null ? (
            'Database never put back to an older one'
          ) : (
            <>
              Database{' '}
              <Link to="/events" search={{ type: 'RESTORE_DETECTED' }} className="underline">
                restored
              </Link>{' '}
              <Time at={restore.detected_at} />
            </>
          )}
        </StateRow>
        {restore.resync_open && (
          <StateRow icon={WARNING}>
            <Link to="/settings" className="underline">
              A resync is open
            </Link>
            : hosts ahead of the database are taken along
          </StateRow>
        )}
      </FigureList>
    </Panel>
  );
}
