import type { PlanAction } from '@tidegate/protocol/plan';
import type { Rings, UnprovenRule } from '@tidegate/protocol/rings';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { PlanHost } from '../artifacts/identity-rules.ts';
import type { Db } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import type { RingStanding } from './promotion-rules.ts';
import { proofsOf, unprovenIn } from './proof-rules.ts';
import { provenBefore, type RingOrder } from './proofs-store.ts';
import { membersDigest } from './ring-rules.ts';
import { enteredOf } from './store.ts';

/** A set of updates that a policy with rings asks for. */
export interface AskedOfRing {
  readonly policyId: string;
  readonly rings: Rings;
  readonly unproven: UnprovenRule;
  readonly agentId: string;
  readonly host: PlanHost;
  readonly ecosystem: Ecosystem;
  readonly updates: readonly { readonly name: string; readonly available_version: string }[];
  /** Of its plan; none while no plan is known. */
  readonly actions: readonly PlanAction[];
}

/** Where a host stands with these versions: its ring, whether a rollout has entered it, and what no inner ring has. */
export async function ringStanding(db: Db, asked: AskedOfRing): Promise<RingStanding> {
  const { rings, unproven: rule } = asked;
  const order = { policy_id: asked.policyId, members_sha256: membersDigest(rings) };
  const rows = await rolloutsOf(db, order, asked);
  const carrying = asked.updates.map(({ name, available_version: version }) =>
    rows.find((row) => row.name === name && row.version === version && isEntered(row)),
  );
  const known = carrying.find((row) => row !== undefined) ?? rows[0];
  // A host without a row joined after its rollout had ended: the last ring.
  const ring = known?.host_ring ?? rings.length - 1;
  const isAll = carrying.length > 0 && carrying.every((row) => row !== undefined);
  const times = carrying.flatMap((row) => (row ? (enteredOf(row)[ring] ?? []) : []));
  return {
    ...{ ring, name: rings[ring]?.name ?? '', isEntered: isAll, rule },
    rolloutIds: [...new Set(carrying.flatMap((row) => row?.id ?? []))].toSorted(),
    enteredAtMs: times.length === 0 ? null : Math.max(...times),
    unproven: ring === 0 ? [] : await unprovenOf(db, asked, { order, ring }),
  };
}

type Carried = Tables['rollouts'] & { name: string; version: string; host_ring: number | null };

/** The rollouts of these rings that carry a version of these packages, the newest first. */
async function rolloutsOf(
  db: Db,
  order: RingOrder,
  { agentId, ecosystem, updates }: AskedOfRing,
): Promise<Carried[]> {
  return db
    .selectFrom('rollouts as r')
    .innerJoin('rollout_packages as p', 'p.rollout_id', 'r.id')
    .leftJoin('rollout_hosts as h', (join) =>
      join.onRef('h.rollout_id', '=', 'r.id').on('h.agent_id', '=', agentId),
    )
    .selectAll('r')
    .select(['p.name', 'p.version', 'h.ring as host_ring'])
    .where('r.policy_id', '=', order.policy_id)
    .where('r.members_sha256', '=', order.members_sha256)
    .where('p.ecosystem', '=', ecosystem)
    .where(
      'p.name',
      'in',
      updates.map(({ name }) => name),
    )
    .orderBy('r.id', 'desc')
    .execute();
}

/** A rollout that has ended well has entered every ring, also for hosts that join later. */
function isEntered({ state, ring, host_ring: own }: Carried): boolean {
  return state === 'finished' || (state === 'running' && own !== null && own <= ring);
}

/** What the plan brings and no inner ring has installed. */
async function unprovenOf(
  db: Db,
  asked: AskedOfRing,
  { order, ring }: { order: RingOrder; ring: number },
): Promise<RingStanding['unproven']> {
  return unprovenIn(asked, await provenBefore(db, { ...order, ring, proofs: proofsOf(asked) }));
}
