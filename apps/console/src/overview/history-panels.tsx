import { useQuery } from '@tanstack/react-query';
import type { OverviewHistory } from '@tidegate/protocol/overview-api';
import { useMemo } from 'react';
import { oneQuery } from '../api/queries.ts';
import { LineChart } from '../ui/line-chart.tsx';
import { Panel } from '../ui/page.tsx';
import { Sparkline } from '../ui/sparkline.tsx';
import { ErrorPanel } from '../ui/states.tsx';
import { CHART_DAYS_MIN, hostDays, hoursText, isDrawable, seriesOf } from './overview-rules.ts';

const DAYS = 90;
/** One record per day, oldest first. */
const historyQuery = oneQuery<OverviewHistory>('overview', '/api/v1/overview/history', { days: DAYS });
/** Steps of the grid, in hours: whole hours, days, weeks and more. */
const HOUR_STEPS = [1, 2, 6, 12, 24, 48, 96, 168, 336, 720, 1_440, 4_320, 8_760];
/** Hosts are whole. */
const HOST_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000];
const DASHED = [6, 4] as const;
const countText = (value: number): string => Math.round(value).toLocaleString('en');

/** How exposed the fleet is, and how long updates wait, once there are days enough to draw. */
export function HistoryPanels() {
  const { data, error, refetch } = useQuery(historyQuery);
  const series = useMemo(() => (data ? seriesOf(data.items) : null), [data]);
  const lines = useMemo(
    () =>
      series && {
        exposure: [
          {
            id: 'exposed',
            word: 'hosts with a known fix that is not installed',
            tone: 'text-bad',
            values: series.exposedHosts,
          },
        ],
        ages: [
          { id: 'median', word: 'half are younger than', tone: 'text-accent', values: series.median },
          { id: 'p95', word: '95 % are younger than', tone: 'text-warn', dash: DASHED, values: series.p95 },
        ],
      },
    [series],
  );
  if (error) return <ErrorPanel error={error} retry={() => void refetch()} />;
  if (!series || !lines) return null;
  const isExposureDrawn = isDrawable(series.exposedHosts);
  const areAgesDrawn = isDrawable(series.median);
  if (!isExposureDrawn && !areAgesDrawn)
    return <p className="text-muted">Charts appear here after {CHART_DAYS_MIN} days.</p>;
  return (
    <div className="grid grid-cols-1 gap-4 lg:grid-cols-2">
      {isExposureDrawn && (
        <Panel
          title="Exposure"
          aside={
            <span className="text-muted">
              <strong className="text-text">{countText(hostDays(series.exposedHosts))}</strong> host-days in{' '}
              {series.days.length} days
            </span>
          }
        >
          <LineChart
            label="Hosts with a known fix that is not installed"
            days={series.days}
            lines={lines.exposure}
            format={countText}
            steps={HOST_STEPS}
          />
        </Panel>
      )}
      {areAgesDrawn && (
        <Panel title="Age of open updates">
          <LineChart
            label="Age of open updates"
            days={series.days}
            lines={lines.ages}
            format={hoursText}
            steps={HOUR_STEPS}
          />
        </Panel>
      )}
    </div>
  );
}

/** How many hosts checked in per day, so that a fleet that falls silent is visible. */
export function HostsSeen() {
  const { data } = useQuery(historyQuery);
  const seen = data?.items.map(({ hosts_seen }) => hosts_seen) ?? [];
  const last = seen.at(-1);
  if (last === undefined || !isDrawable(seen)) return null;
  return (
    <p className="mt-3 flex flex-wrap items-center gap-2 text-muted">
      <Sparkline values={seen} label={`Hosts seen on each of ${seen.length} days`} />
      {last.toLocaleString('en')} seen in the last day
    </p>
  );
}
