import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { isolated } from '@tidegate/protocol/isolated';
import type { RolloutDetail, RolloutRing } from '@tidegate/protocol/rollouts-api';
import { TriangleAlert } from 'lucide-react';
import { useState } from 'react';
import { oneQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { UnrepresentedList } from '../policies/rings-preview.tsx';
import { Page } from '../ui/page.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { pollMs } from './poll.ts';
import { RingLane } from './ring-lane.tsx';
import { RollBackRing } from './roll-back-ring.tsx';
import { ActDialog, RolloutButtons } from './rollout-acts.tsx';
import { RolloutBadges } from './rollout-badges.tsx';
import { RolloutHosts } from './rollout-hosts.tsx';
import { RolloutPackages } from './rollout-packages.tsx';
import { type Act, canRollBack, ROLLOUTS } from './rollout-rules.ts';

/** One rollout: what it waits for, each ring as a lane, its packages and its hosts. */
export function RolloutPage() {
  const { id = '' } = useParams({ strict: false });
  const path = `${ROLLOUTS}/${encodeURIComponent(id)}`;
  const {
    data: rollout,
    error,
    refetch,
  } = useQuery({
    ...oneQuery<RolloutDetail>('updates', path),
    refetchInterval: ({ state: { data } }) => pollMs(data ? [data] : []),
  });
  if (rollout) return <OneRollout key={rollout.id} rollout={rollout} />;
  return (
    <Page title="Rollout">
      {error ? <ErrorPanel error={error} retry={() => void refetch()} /> : <Skeleton as="panels" />}
    </Page>
  );
}

function OneRollout({ rollout }: { rollout: RolloutDetail }) {
  const { may } = useSession();
  // What the operator has looked at: what is approved is the gate of that ring.
  const [acting, setActing] = useState<{ act: Act; on: RolloutDetail } | null>(null);
  const [undoing, setUndoing] = useState<RolloutRing | null>(null);
  const { id, state, lanes, unrepresented, waits_for: waits, policy_id, policy_name, in_force } = rollout;
  return (
    <Page
      title={`Rollout of ${isolated(policy_name)}`}
      lead={
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <RolloutBadges rollout={rollout} />
          <span>
            began <Time at={rollout.started_at} />
            {rollout.ended_at !== null && (
              <>
                , ended <Time at={rollout.ended_at} />
              </>
            )}
          </span>
          <Link to="/policies/$id" params={{ id: policy_id }}>
            See the policy
          </Link>
        </span>
      }
      actions={
        may('approver') && (
          <RolloutButtons rollout={rollout} onAct={(act) => setActing({ act, on: rollout })} />
        )
      }
    >
      <div className="space-y-4">
        <div
          className={`rounded-xl border px-4 py-3 ${state === 'halted' ? 'border-bad/40 bg-bad-soft' : 'border-line bg-surface'}`}
        >
          <p role="status" className="text-base font-medium break-words">
            {waits}
          </p>
          {rollout.halt && (
            <p className="mt-1">
              Halted <Time at={rollout.halt.at} />.
            </p>
          )}
          {!in_force && (
            <p className="mt-1">
              The policy is not in force any more in the version under which this rollout began.
            </p>
          )}
        </div>
        {unrepresented.length > 0 && (
          <div className="flex items-start gap-2 rounded-xl border border-line bg-warn-soft px-4 py-3">
            <TriangleAlert aria-hidden="true" className="mt-0.5 size-4 shrink-0 text-warn" />
            <UnrepresentedList systems={unrepresented} />
          </div>
        )}
        <h2 className="sr-only">Rings</h2>
        <ol className="grid grid-cols-[repeat(auto-fit,minmax(min(20rem,100%),1fr))] gap-4">
          {lanes.map((lane) => (
            <RingLane
              key={lane.ring}
              rolloutId={id}
              lane={lane}
              onRollBack={may('approver') && canRollBack(rollout, lane) ? () => setUndoing(lane) : null}
            />
          ))}
        </ol>
        <RolloutPackages rollout={rollout} />
        <RolloutHosts rollout={rollout} />
      </div>
      {acting && <ActDialog rollout={acting.on} act={acting.act} onClose={() => setActing(null)} />}
      {undoing && <RollBackRing rollout={rollout} lane={undoing} onClose={() => setUndoing(null)} />}
    </Page>
  );
}
