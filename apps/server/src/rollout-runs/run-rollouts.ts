import { POLICIES_MAX, type PolicyPayload } from '@tidegate/protocol/policies-api';
import type { Ring } from '@tidegate/protocol/rings';
import { ROLLOUT_PACKAGES_MAX } from '@tidegate/protocol/rollouts-api';
import type { ScopedHost } from '../agents/host-scope.ts';
import { findAgents } from '../agents/store.ts';
import type { ApprovalDeps } from '../approvals/deps.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { Listening } from '../platform/listening.ts';
import { payloadOf } from '../policies/policy-view.ts';
import { windowOf } from '../policies/policy-windows.ts';
import { type PolicyRow, policiesInForce } from '../policies/store.ts';
import { askFollowUps } from '../policy-runs/ask-follow-ups.ts';
import type { ReachedHost, WaitingUpdate } from '../policy-runs/candidates-store.ts';
import type { Refused } from '../policy-runs/refused.ts';
import {
  collect,
  createCatchUp,
  createTurn,
  keepsAuthor,
  type MayAsk,
  matchedPolicy,
  runPolicy,
  type Turn,
} from '../policy-runs/run-policies.ts';
import { membersDigest, ringScopes } from '../rollouts/ring-rules.ts';
import {
  liveRollouts,
  moveRollout,
  packagesOf,
  type RolloutRow,
  versionKey,
  versionsCarried,
} from '../rollouts/store.ts';
import { advanceRollout } from './advance-rollout.ts';
import { addLateHosts, addToWave, beginRollout, emptyWave, type Wave } from './begin-rollout.ts';
import { recordRollout } from './rollout-events.ts';
import { watchHosts } from './watch-hosts.ts';
import { ringsOfHosts } from './watch-store.ts';
import { withdrawUndelivered } from './withdraw-undelivered.ts';

/** A policy with rings that is in force, with its rollout that has not ended. */
interface Ringed {
  readonly row: PolicyRow;
  readonly payload: PolicyPayload;
  readonly rings: readonly Ring[];
  readonly live: RolloutRow | null;
}

/**
 * One pass over the rollouts: their hosts are looked at, they halt, enter rings or end, and then their policies ask the
 * ordinary path for what the rings that were entered may have. Every step can be broken off and done again.
 */
export async function runRolloutsOnce(
  deps: ApprovalDeps,
  { refused, listening, turn = createTurn() }: { refused: Refused; listening: Listening; turn?: Turn },
  isStopped: () => boolean = () => false,
): Promise<void> {
  const { platform } = deps;
  const db = platform.database.read;
  const ringed: Ringed[] = [];
  const live = await liveRollouts(db);
  for (const row of await policiesInForce(db, { nowMs: platform.now(), limit: POLICIES_MAX })) {
    const payload = payloadOf(row);
    const { rings } = payload;
    if (!rings || !(await keepsAuthor(deps, row))) continue;
    const own = live.find((one) => isOf(one, row, rings)) ?? null;
    ringed.push({ row, payload, rings, live: own && (await underVersion(deps, own, row)) });
  }
  await cancelOrphans(deps, live, ringed);
  await withdrawUndelivered(deps, isStopped);
  for (const { row, payload, rings, live: rollout } of ringed) {
    if (isStopped()) return;
    if (!rollout) continue;
    await watchHosts(deps, { rollout, rings, listening });
    const going = { rollout, rings, policyName: row.name, scope: payload.scope, listening };
    if (rollout.state === 'running') await advanceRollout(deps, going);
  }
  // What has just been halted is withdrawn at once.
  await withdrawUndelivered(deps, isStopped);
  if (!isStopped()) await ask(deps, { ringed, refused, isStopped, turn });
  // Windows for reboots and restarts may be others than those for installing.
  for (const { row } of ringed) if (!isStopped()) await askFollowUps(platform, row);
  listening.looked(platform.now());
}

/** A policy that was changed and kept its rings goes on with its rollout. */
function isOf({ policy_id, members_sha256 }: RolloutRow, policy: PolicyRow, rings: readonly Ring[]): boolean {
  return policy_id === policy.policy_id && members_sha256 === membersDigest(rings);
}

async function underVersion(
  { platform }: ApprovalDeps,
  rollout: RolloutRow,
  { sha256 }: PolicyRow,
): Promise<RolloutRow | null> {
  if (rollout.policy_sha256 === sha256) return rollout;
  const { id, state } = rollout;
  const set = { policy_sha256: sha256 };
  return platform.database.transact((tx) => moveRollout(tx, { id, from: [state], set }));
}

/** Rollouts whose policy is not in force any more, or has other rings. */
async function cancelOrphans(
  { platform }: ApprovalDeps,
  live: readonly RolloutRow[],
  ringed: readonly Ringed[],
): Promise<void> {
  const kept = new Set(ringed.map(({ live: rollout }) => rollout?.id));
  for (const { id, state } of live.filter((one) => !kept.has(one.id))) {
    const reason = 'its policy is not in force any more, or has other rings.';
    // What it has approved keeps its token, as with any policy that ends.
    const end = { ended_at: platform.now(), end_reason: `Cancelled: ${reason}`, withdrawn: 1 };
    const set = { state: 'cancelled', ...end } as const;
    await platform.database.transact(async (tx) => {
      const rollout = await moveRollout(tx, { id, from: [state], set });
      if (!rollout) return;
      await recordRollout(tx, platform, {
        ...{ type: 'rollout_cancelled', severity: 'warning', actor: 'server', rollout, policyName: '' },
        content: { reason },
      });
    });
  }
}

/** Begins rollouts where there is something new, and asks for what the rings that were entered may have. */
async function ask(
  deps: ApprovalDeps,
  given: { ringed: readonly Ringed[]; refused: Refused; isStopped: () => boolean; turn: Turn },
): Promise<void> {
  const { ringed, refused, isStopped, turn } = given;
  const { platform } = deps;
  const db = platform.database.read;
  const open = ringed.filter(({ payload }) => windowOf(payload, 'install', platform.now()).kind !== 'closed');
  if (open.length === 0) return;
  // By now some have entered a ring, or stand still.
  const live = new Map((await liveRollouts(db)).map((one) => [one.policy_id, one]));
  const lanes = new Map<string, Lane>();
  for (const one of open)
    lanes.set(one.row.sha256, await laneOf(deps, one, live.get(one.row.policy_id) ?? null));
  const catchUp = createCatchUp(
    deps,
    open.map(({ row }) => row),
  );
  const { asked, stops } = await collect(deps, {
    ...{ policies: open.map(({ row }) => matchedPolicy(row)), refused, isStopped, turn },
    scopes: open.flatMap(({ rings }) => ringScopes(rings)),
    allowing: async (hosts) => {
      const [inRings, caughtUp] = [await allowing(deps, lanes, hosts), await catchUp.allowing(hosts)];
      return (policy, update) => caughtUp(policy, update) && inRings(policy, update);
    },
  });
  const done = new Set<string>();
  for (const { row, rings } of open) {
    if (isStopped()) return;
    const lane = lanes.get(row.sha256);
    if (!lane) continue;
    const updates = (asked.get(row.sha256) ?? []).filter(({ id }) => !done.has(id));
    const isCatchUp = catchUp.has(row.sha256);
    for (const id of await runPolicy(deps, row, { updates, isCatchUp, refused, stops })) done.add(id);
    // A rollout begins while a window is open.
    if (!lane.live && lane.wave.packages.size > 0 && !isCatchUp)
      await beginRollout(deps, { policy: row, rings, wave: lane.wave });
    if (lane.live?.state === 'running') await addLate(deps, { rollout: lane.live, rings, late: lane.late });
  }
}

/** What a policy may ask for, and what it finds on the way. */
interface Lane {
  readonly live: RolloutRow | null;
  /** The versions of the rollout that has not ended. */
  readonly carried: ReadonlySet<string>;
  /** Those of rollouts that have ended well: every host may have them. */
  readonly released: ReadonlySet<string>;
  /** Those of any rollout of its rings. */
  readonly known: ReadonlySet<string>;
  readonly wave: Wave;
  readonly late: Map<string, ScopedHost>;
}

async function laneOf(
  { platform }: ApprovalDeps,
  { row, rings }: Ringed,
  live: RolloutRow | null,
): Promise<Lane> {
  const db = platform.database.read;
  const order = { policy_id: row.policy_id, members_sha256: membersDigest(rings) };
  const { carried: known, finished: released } = await versionsCarried(db, order);
  const carried = live ? await packagesOf(db, live.id, ROLLOUT_PACKAGES_MAX) : [];
  return {
    ...{ live, carried: new Set(carried.map(versionKey)), released, known },
    wave: emptyWave(),
    late: new Map(),
  };
}

/** Of a page of hosts: which updates may be asked for now. The others become part of the next rollout, or of the one that runs. */
async function allowing(
  { platform }: ApprovalDeps,
  lanes: ReadonlyMap<string, Lane>,
  hosts: readonly (ReachedHost & ScopedHost)[],
): Promise<MayAsk> {
  const rolloutIds = [...lanes.values()].flatMap(({ live }) => live?.id ?? []);
  const rings = await ringsOfHosts(platform.database.read, {
    rolloutIds,
    agentIds: hosts.map(({ id }) => id),
  });
  const byId = new Map(hosts.map((host) => [host.id, host]));
  return ({ sha256 }, update) => {
    const lane = lanes.get(sha256);
    const host = byId.get(update.agent_id);
    if (!lane || !host) return false;
    const key = keyOf(update);
    const { live } = lane;
    if (live?.state === 'running' && lane.carried.has(key)) {
      const ring = rings.get(`${live.id}\n${host.id}`);
      if (ring === undefined) lane.late.set(host.id, host);
      return ring !== undefined && ring <= live.ring;
    }
    if (lane.released.has(key)) return true;
    if (!live && !lane.known.has(key)) addToWave(lane.wave, host, update);
    return false;
  };
}

function keyOf({ ecosystem, name, available_version: version }: WaitingUpdate): string {
  return versionKey({ ecosystem, name, version });
}

async function addLate(
  deps: ApprovalDeps,
  {
    rollout,
    rings,
    late,
  }: { rollout: RolloutRow; rings: readonly Ring[]; late: ReadonlyMap<string, ScopedHost> },
): Promise<void> {
  const { platform } = deps;
  const agents = await findAgents(platform.database.read, [...late.keys()]);
  const hosts = [...late.values()].flatMap((host) => {
    const agent = agents.get(host.id);
    return agent ? { ...host, enrolledAtMs: agent.enrolled_at } : [];
  });
  for (const some of chunks(hosts)) await addLateHosts(deps, { rollout, rings, hosts: some });
}
