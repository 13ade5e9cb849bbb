import { useQuery } from '@tanstack/react-query';
import type { Health } from '@tidegate/protocol/health-api';
import type { Overview } from '@tidegate/protocol/overview-api';
import { oneQuery } from '../api/queries.ts';
import { AdvisoryBadge } from '../ui/advisory-badge.tsx';
import { Facts, Panel } from '../ui/page.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Lasting, Time } from '../ui/time.tsx';

/** The advisory source: whether its data is current, and how old it is. */
export function AdvisoriesPanel() {
  const health = useQuery(oneQuery<Health>('overview', '/api/health'));
  const { data, error, refetch } = useQuery(oneQuery<Overview>('overview', '/api/v1/overview'));
  const status = health.data?.checks.advisories;
  const advisories = data?.lying.advisories;
  return (
    <Panel title="Advisories">
      {error && <ErrorPanel error={error} retry={() => void refetch()} />}
      {!status && !error && <Skeleton rows={3} />}
      {status && (
        <Facts
          facts={[
            ['Source', <AdvisoryBadge key="status" status={status} />],
            [
              'Oldest data in use',
              advisories ? (
                <Time key="as-of" at={advisories.data_as_of} empty="none is stored" />
              ) : (
                'not known'
              ),
            ],
            ...(advisories?.stale ?? []).map(
              ({ ecosystem, since }) =>
                [`Too old: ${ecosystem}`, <Lasting key={ecosystem} since={since} />] as const,
            ),
            ...(advisories?.missing ?? []).map(
              (ecosystem) =>
                [
                  `Missing: ${ecosystem}`,
                  <span key={ecosystem} className="text-bad">
                    no data, so its packages cannot be checked
                  </span>,
                ] as const,
            ),
            [
              'Set by',
              <span key="set-by">
                <code>SERVICE_ADVISORY_SOURCE</code> and related settings
              </span>,
            ],
          ]}
        />
      )}
    </Panel>
  );
}
