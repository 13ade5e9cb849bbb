import { useQuery } from '@tanstack/react-query';
import { isolated } from '@tidegate/protocol/isolated';
import type { Overview } from '@tidegate/protocol/overview-api';
import { useState } from 'react';
import { refetchInterval } from '../api/live.ts';
import { oneQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { UndecidedPolicy } from '../gate-policy/undecided-policy.tsx';
import { Page, Panel } from '../ui/page.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { ActList } from './act-list.tsx';
import { actsOf } from './acts-rules.ts';
import { FigureList } from './figure-list.tsx';
import { FirstHost, type NewToken } from './first-host.tsx';
import { TotalsPanel } from './fleet-panels.tsx';
import { HistoryPanels } from './history-panels.tsx';
import { LyingPanel } from './lying-panel.tsx';
import { changed } from './overview-rules.ts';

const FIRST_POLL_MS = 3_000;

/** What to do today, how the fleet is, what changed, and whether the numbers can be trusted. */
export function OverviewPage() {
  const { may } = useSession();
  const [token, setToken] = useState<NewToken | null>(null);
  const query = useQuery({
    ...oneQuery<Overview>('overview', '/api/v1/overview'),
    // Polls faster until the first host appears; the server's counts are seconds old.
    refetchInterval: ({ state }) =>
      state.data?.totals.hosts.count === 0 ? FIRST_POLL_MS : refetchInterval(),
  });
  const { data, error, isPending, refetch } = query;
  const isFirst = token !== null || data?.totals.hosts.count === 0;
  return (
    <Page title="Overview" lead={data && <AsOf overview={data} />}>
      {error && <ErrorPanel error={error} retry={() => void refetch()} />}
      {isPending && !error && <Skeleton as="panels" rows={8} />}
      {data && isFirst && <FirstHost mayAdd={may('admin')} token={token} onToken={setToken} />}
      {data && !isFirst && <Answers overview={data} />}
    </Page>
  );
}

function AsOf({ overview: { as_of, of } }: { overview: Overview }) {
  const { groups } = useSession();
  return (
    <>
      {of === 'fleet' ? 'The whole fleet' : `The hosts of ${isolated(groups?.join(', ') ?? 'your groups')}`},
      as of <Time at={as_of} />
    </>
  );
}

function Answers({ overview }: { overview: Overview }) {
  const { groups, may } = useSession();
  const acts = actsOf(overview);
  const news = changed(overview).filter(({ figure }) => figure.count > 0);
  return (
    <div className="space-y-4">
      {groups === null && may('admin') && <UndecidedPolicy />}
      <div className="grid items-start grid-cols-1 gap-4 lg:grid-cols-[3fr_2fr]">
        <ActList acts={acts} />
        <div className="grid items-start grid-cols-1 gap-4">
          <TotalsPanel overview={overview} />
          {news.length > 0 && (
            <Panel title="What changed?" aside={<span className="text-muted">in the last day</span>}>
              <FigureList rows={news} />
            </Panel>
          )}
          <LyingPanel overview={overview} />
        </div>
      </div>
      {groups === null ? (
        <HistoryPanels />
      ) : (
        <Panel title="Over time">
          <p className="text-muted">
            The daily history covers the whole fleet, not single groups, so there is no history of the hosts
            of <bdi>{groups.join(', ')}</bdi>.
          </p>
        </Panel>
      )}
    </div>
  );
}
