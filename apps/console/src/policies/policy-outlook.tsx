import type { UseQueryResult } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { PolicyDetail, PolicyPreview } from '@tidegate/protocol/policies-api';
import { Panel } from '../ui/page.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { counted } from '../updates/update-words.ts';
import { leftText } from './policy-words.ts';

type Update = PolicyPreview['updates'][number];

/** What a policy would do now, or would if it ran, by the same gate on what is stored. */
export function PolicyOutlook({
  policy,
  query: { data, error, refetch },
}: {
  policy: PolicyDetail;
  query: UseQueryResult<PolicyPreview>;
}) {
  if (!data) {
    return (
      <Panel title="Now">
        {error ? <ErrorPanel error={error} retry={() => void refetch()} /> : <Skeleton />}
      </Panel>
    );
  }
  const approved = data.updates.filter(({ reason }) => reason === null);
  const left = data.updates.filter(({ reason }) => reason !== null);
  return (
    <div className="space-y-4">
      <Panel
        title={policy.state === 'in_force' ? 'What it would approve now' : 'What it would approve if it ran'}
      >
        <p>
          {counted(data.approves, 'update')} on {counted(data.hosts, 'host')}
          {data.unplanned > 0 &&
            `, and ${counted(data.unplanned, 'update')} once their hosts have sent a plan`}
          .
        </p>
        <Updates updates={approved} total={data.approves + data.unplanned} />
      </Panel>
      <Panel title="What it leaves, and why">
        {data.leaves === 0 ? (
          <p>Nothing: every update of its hosts is approved or waits for a plan.</p>
        ) : (
          <ul className="space-y-1">
            {data.reasons.map(({ reason, count }) => (
              <li key={reason} className="break-words">
                <span className="font-medium">{counted(count, 'update')}:</span> {leftText(reason)}
              </li>
            ))}
          </ul>
        )}
        <Updates updates={left} total={data.leaves} />
      </Panel>
      <Panel title="Its hosts">
        {data.hosts === 0 ? (
          <p>None. The policy approves nothing until a host of its scope is enrolled.</p>
        ) : (
          <>
            <ul className="columns-2 max-sm:columns-1">
              {data.hosts_shown.map(({ agent_id: id, hostname }) => (
                <li key={id} className="break-words">
                  <Link to="/hosts/$id" params={{ id }}>
                    {hostname}
                  </Link>
                </li>
              ))}
            </ul>
            <More shown={data.hosts_shown.length} total={data.hosts} noun="host" />
          </>
        )}
      </Panel>
    </div>
  );
}

function Updates({ updates, total }: { updates: readonly Update[]; total: number }) {
  if (updates.length === 0) return null;
  return (
    <>
      <ul className="mt-3 space-y-1">
        {updates.map(({ update_id: id, name, to_version, hostname, reason }) => (
          <li key={id} className="break-words">
            <Link to="/updates/$id" params={{ id }} className="underline">
              {name} {to_version}
            </Link>{' '}
            on {hostname}
            {reason !== null && <span className="text-muted">: {leftText(reason)}</span>}
          </li>
        ))}
      </ul>
      <More shown={updates.length} total={total} noun="update" />
    </>
  );
}

function More({ shown, total, noun }: { shown: number; total: number; noun: string }) {
  if (total <= shown) return null;
  return <p className="mt-2 text-muted">{counted(total - shown, `more ${noun}`)}, not listed here.</p>;
}
