import { useQuery } from '@tanstack/react-query';
import type { OverviewHistory } from '@tidegate/protocol/overview-api';
import { useMemo } from 'react';
import { oneQuery } from '../api/queries.ts';
import { LineChart } from '../ui/line-chart.tsx';
import { Panel } from '../ui/page.tsx';
import { Sparkline } from '../ui/sparkline.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { hoursText, seriesOf } from './overview-rules.ts';

const DAYS = 90;
/** One record per day, oldest first. */
const historyQuery = oneQuery<OverviewHistory>('overview', '/api/v1/overview/history', { days: DAYS });
/** Steps of the grid, in hours: whole hours, days, weeks and more. */
const HOUR_STEPS = [1, 2, 6, 12, 24, 48, 96, 168, 336, 720, 1_440, 4_320, 8_760];
const DASHED = [6, 4] as const;
const countText = (value: number): string => Math.round(value).toLocaleString('en');

/** How long updates wait, and how much of the fleet is exposed, day by day. */
export function HistoryPanels() {
  const { data, error, isPending } = useQuery(historyQuery);
  const series = useMemo(() => (data ? seriesOf(data.items) : null), [data]);
  const lines = useMemo(
    () =>
      series && {
        ages: [
          { id: 'median', word: 'half are younger than', tone: 'text-accent', values: series.median },
          { id: 'p95', word: '95 % are younger than', tone: 'text-warn', dash: DASHED, values: series.p95 },
        ],
        exposure: [
          { id: 'exposed', word: 'fix known vulnerabilities', tone: 'text-bad', values: series.exposed },
          { id: 'open', word: 'all open', tone: 'text-muted', dash: DASHED, values: series.open },
        ],
      },
    [series],
  );
  if (error) return <ErrorPanel error={error} />;
  if (isPending) return <Skeleton rows={4} />;
  if (!series || !lines || series.days.length === 0)
    return (
      <Panel title="Over time">
        <p className="text-muted">No history has been recorded yet.</p>
      </Panel>
    );
  return (
    <div className="grid grid-cols-1 gap-4 lg:grid-cols-2">
      <Panel title="Age of open updates" aside={<Span count={series.days.length} />}>
        <LineChart
          label="Age of open updates"
          days={series.days}
          lines={lines.ages}
          format={hoursText}
          steps={HOUR_STEPS}
        />
      </Panel>
      <Panel title="Exposure" aside={<Span count={series.days.length} />}>
        <LineChart
          label="Open updates, and those that fix known vulnerabilities"
          days={series.days}
          lines={lines.exposure}
          format={countText}
        />
      </Panel>
    </div>
  );
}

function Span({ count }: { count: number }) {
  return <span className="text-muted">{count === 1 ? 'today' : `the last ${count} days`}</span>;
}

/** How many hosts checked in per day, so that a fleet that falls silent is visible. */
export function HostsSeen() {
  const { data } = useQuery(historyQuery);
  const seen = data?.items.map(({ hosts_seen }) => hosts_seen) ?? [];
  const last = seen.at(-1);
  if (last === undefined || seen.length < 2) return null;
  return (
    <p className="mt-3 flex flex-wrap items-center gap-2 text-muted">
      <Sparkline values={seen} label={`Hosts seen on each of ${seen.length} days`} />
      {last.toLocaleString('en')} seen in the last day
    </p>
  );
}
