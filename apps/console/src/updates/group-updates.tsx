import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { counted } from '@tidegate/protocol/count-words';
import { isolated } from '@tidegate/protocol/isolated';
import type { UpdateItem } from '@tidegate/protocol/updates-api';
import { Check } from 'lucide-react';
import { useState } from 'react';
import { listQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { SeverityBadge, StateBadge, VerdictBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { BulkApproval } from './bulk-approval.tsx';
import type { Chosen } from './bulk-rules.ts';
import type { UrlFilter } from './filter-rules.ts';
import { Versions, WorstFixed } from './update-columns.tsx';

const SHOWN = 10;
/** Updates whose names the result of an approval knows; the page limit of the API. */
const NAMED_MAX = 200;

/** The most urgent updates of one package or host, and the act that approves all of them that are pending. */
export function GroupUpdates({ filter, of }: { filter: UrlFilter; of: 'package' | 'host' }) {
  const query = useQuery(
    listQuery<UpdateItem>('updates', '/api/v1/updates', { ...filter, sort: 'urgency', limit: SHOWN }),
  );
  const { data } = query;
  const more = data ? data.total - data.items.length : 0;
  return (
    <div className="space-y-2 px-4 py-3 pl-11 max-md:pl-4">
      {query.isPending && <Skeleton as="rows" rows={3} />}
      {query.isError && <ErrorPanel error={query.error} retry={() => void query.refetch()} />}
      {data && (
        <>
          <ul className="divide-y divide-line">
            {data.items.map((update) => (
              <Line key={update.id} update={update} of={of} />
            ))}
          </ul>
          <div className="flex flex-wrap items-center justify-between gap-2">
            {more > 0 ? (
              <Link to="/updates" search={{ ...filter, sort: 'urgency' }}>
                and {data.total_is_capped && 'more than '}
                {more.toLocaleString('en')} more
              </Link>
            ) : (
              <span className="text-muted">{data.total === 0 && 'Nothing is left of this.'}</span>
            )}
            <ApproveGroup filter={filter} />
          </div>
        </>
      )}
    </div>
  );
}

function Line({ update, of }: { update: UpdateItem; of: 'package' | 'host' }) {
  const { id, name, hostname } = update;
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 py-1.5">
      <Link
        to="/updates/$id"
        params={{ id }}
        title={`${isolated(name)} on ${isolated(hostname)}`}
        className="w-64 max-w-full truncate font-medium"
      >
        {of === 'package' ? hostname : name}
      </Link>
      <span className="w-72 max-w-full truncate">
        <Versions update={update} />
      </span>
      <VerdictBadge verdict={update.verdict} />
      <span className="inline-flex items-center gap-1.5">
        <span className="text-muted">Fixes</span> <WorstFixed {...update} />
      </span>
      {update.severity && (
        <span className="inline-flex items-center gap-1.5">
          <span className="text-muted">Brings or keeps</span> <SeverityBadge severity={update.severity} />
        </span>
      )}
      {update.state !== 'pending' && <StateBadge state={update.state} />}
    </li>
  );
}

/** Approves what is pending of a group; the preview says what cannot be approved, and why. */
function ApproveGroup({ filter }: { filter: UrlFilter }) {
  const { may } = useSession();
  const [chosen, setChosen] = useState<Chosen | null>(null);
  // Of several versions of a package only the recommended one is approved.
  const { alternatives: _, ...recommended } = filter;
  const pending = { ...recommended, state: 'pending' };
  const { data } = useQuery(listQuery<UpdateItem>('updates', '/api/v1/updates', { ...pending, limit: 1 }));
  const named = useQuery({
    ...listQuery<UpdateItem>('updates', '/api/v1/updates', { ...pending, limit: NAMED_MAX }),
    enabled: chosen !== null,
  });
  const isOther = filter.state !== undefined && filter.state !== 'pending';
  if (!may('approver') || isOther || data === undefined) return null;
  return (
    <>
      {data.total_is_capped ? (
        <span className="text-muted">Too many for one approval: narrow the filter.</span>
      ) : (
        data.total > 0 && (
          <Button
            icon={<Check aria-hidden="true" className="size-4" />}
            onClick={() => setChosen({ kind: 'filter', filter: pending, count: data.total })}
          >
            Approve {data.total === 1 ? 'it' : `all ${counted(data.total, 'update')}`}
          </Button>
        )
      )}
      {chosen && (
        <BulkApproval
          chosen={chosen}
          known={new Map(named.data?.items.map((item) => [item.id, item]))}
          onClose={() => setChosen(null)}
          onDone={() => {}}
        />
      )}
    </>
  );
}
