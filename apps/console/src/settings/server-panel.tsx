import { useQuery } from '@tanstack/react-query';
import type { Health } from '@tidegate/protocol/health-api';
import { CircleCheck, CircleX, TriangleAlert } from 'lucide-react';
import { oneQuery } from '../api/queries.ts';
import { uptimeText } from '../hosts/host-rules.ts';
import { Badge } from '../ui/badge.tsx';
import { Facts, Panel } from '../ui/page.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';

/** Version and health of the server (E6). */
export function ServerPanel() {
  const { data, error, isPending, refetch } = useQuery(oneQuery<Health>('overview', '/api/health'));
  return (
    <Panel title="Server">
      {error && <ErrorPanel error={error} retry={() => void refetch()} />}
      {isPending && !error && <Skeleton rows={3} />}
      {data && (
        <Facts
          facts={[
            ['Version', <span key="version">{data.version}</span>],
            ['Health', <HealthBadge key="health" status={data.status} />],
            ['Uptime', uptimeText(data.uptime_seconds)],
            ['Database', <DatabaseBadge key="database" check={data.checks.database} />],
            ['Address', location.origin],
          ]}
        />
      )}
    </Panel>
  );
}

function HealthBadge({ status }: { status: Health['status'] }) {
  return status === 'ok' ? (
    <Badge tone="good" icon={<CircleCheck />}>
      ok
    </Badge>
  ) : (
    <Badge tone="warn" icon={<TriangleAlert />}>
      degraded
    </Badge>
  );
}

function DatabaseBadge({ check }: { check: Health['checks']['database'] }) {
  return check === 'ok' ? (
    <Badge tone="good" icon={<CircleCheck />}>
      ok
    </Badge>
  ) : (
    <Badge tone="bad" icon={<CircleX />}>
      down
    </Badge>
  );
}
