import { Link } from '@tanstack/react-router';
import type { Overview } from '@tidegate/protocol/overview-api';
import { CircleCheck, CircleHelp, TriangleAlert } from 'lucide-react';
import { AdvisoryBadge } from '../ui/advisory-badge.tsx';
import { Panel } from '../ui/page.tsx';
import { duration } from '../ui/relative-time-rules.ts';
import { Time } from '../ui/time.tsx';
import { StateRow } from './figure-list.tsx';

const GOOD = <CircleCheck className="text-good" />;
const WARNING = <TriangleAlert className="text-warn" />;

/** Whether the data can be trusted: identities, verdicts, advisories, clock, and the database itself. */
export function LyingPanel({ overview }: { overview: Overview }) {
  const { advisories, clock, restore } = overview.lying;
  const isCurrent = advisories.status === 'ok' && advisories.stale.length === 0;
  return (
    <Panel title="Can I trust this?">
      <ul>
        <StateRow icon={isCurrent ? GOOD : <CircleHelp className="text-unknown" />}>
          Advisories <AdvisoryBadge status={advisories.status} />
          {advisories.data_as_of !== null && (
            <span className="text-muted">
              {' '}
              oldest data from <Time at={advisories.data_as_of} />
            </span>
          )}
        </StateRow>
        <StateRow icon={clock.ok ? GOOD : WARNING}>
          {clock.ok
            ? 'Server clock as expected'
            : `Server clock ${duration(clock.behind_seconds * 1_000)} behind its earlier records`}
        </StateRow>
        <StateRow icon={restore.detected_at === null ? GOOD : WARNING}>
          {restore.detected_at === null ? (
            'No database restore detected'
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
      </ul>
    </Panel>
  );
}
