import type { PolicyPayload } from '@tidegate/protocol/policies-api';
import type { Ring } from '@tidegate/protocol/rings';
import {
  ROLLOUT_PACKAGES_SHOWN,
  type RolloutDetail,
  RolloutHost,
  type RolloutItem,
  type RolloutRing,
} from '@tidegate/protocol/rollouts-api';
import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { rfc3339 } from '../platform/clock.ts';
import type { Db } from '../platform/db/engine.ts';
import { payloadOf, stoppedBy } from '../policies/policy-view.ts';
import { isOpen, nextWindows, windowOf } from '../policies/policy-windows.ts';
import { type AnyPolicyRow, runsOf, versionsByDigest } from '../policies/store.ts';
import { conditionsOf } from '../rollouts/gate-rules.ts';
import { unrepresentedIn } from '../rollouts/ring-rules.ts';
import {
  countPackages,
  enteredOf,
  packagesOf,
  type RolloutHostRow,
  type RolloutRow,
} from '../rollouts/store.ts';
import { waitsFor } from '../rollouts/waiting-rules.ts';
import { offerEndOf, type RolloutFacts, rolloutFacts } from './ring-facts.ts';
import { NO_HOSTS, sumOf, systemsOf } from './watch-store.ts';

/** A rollout with the version of its policy whose rings it goes through. */
export interface RingedRollout {
  readonly rollout: RolloutRow;
  readonly policy: AnyPolicyRow;
  readonly payload: PolicyPayload;
  readonly rings: readonly Ring[];
}

/** Rollouts whose policy says what their rings are, in the order given. */
export async function withRings(db: Db, rollouts: readonly RolloutRow[]): Promise<RingedRollout[]> {
  const versions = await versionsByDigest(
    db,
    rollouts.map(({ policy_sha256: sha256 }) => sha256),
  );
  return rollouts.flatMap((rollout) => {
    const policy = versions.get(rollout.policy_sha256);
    if (!policy) return [];
    const payload = payloadOf(policy);
    return { rollout, policy, payload, rings: payload.rings ?? [] };
  });
}

export async function rolloutItem(db: Db, ringed: RingedRollout, nowMs: number): Promise<RolloutItem> {
  return itemOf(db, ringed, await rolloutFacts(db, { ...ringed, nowMs, couldReport: true }), nowMs);
}

async function itemOf(
  db: Db,
  { rollout, policy, payload, rings }: RingedRollout,
  facts: RolloutFacts,
  nowMs: number,
): Promise<RolloutItem> {
  const { ring, state, lane, ended_at: endedAt } = rollout;
  const entered = enteredOf(rollout);
  const own = await facts.of(ring);
  const gate = rings[ring]?.gate ?? null;
  const isClosed = !isOpen(windowOf(payload, 'install', nowMs));
  const [opening] = isClosed ? nextWindows(payload, nowMs, 'install') : [];
  const run = (await runsOf(db, [rollout.policy_id])).get(rollout.policy_id);
  const enteredAtMs = entered[ring] ?? rollout.started_at;
  const waits = waitsFor({
    ...{ state, ring: rings[ring]?.name ?? '', next: rings[ring + 1]?.name ?? null, outcomes: own.outcomes },
    conditions: gate ? conditionsOf(gate, own, { skipsSoak: lane === 'emergency' }) : [],
    halt:
      state === 'halted' ? { by: rollout.halted_by ?? 'server', reason: rollout.halt_reason ?? '' } : null,
    endReason: rollout.end_reason,
    offersEndAt: rfc3339(offerEndOf(rollout, { ring, rings }) ?? enteredAtMs),
    opens: isClosed ? { at: opening ? rfc3339(opening.startMs) : null } : null,
    stops: run && run.at >= enteredAtMs ? stoppedBy(run) : [],
  });
  const counts = [...facts.counts.values()];
  return {
    ...{ id: rollout.id, policy_id: rollout.policy_id, policy_sha256: rollout.policy_sha256 },
    ...{
      policy_name: policy.name,
      lane,
      state,
      ring,
      ring_name: rings[ring]?.name ?? '',
      rings: rings.length,
    },
    started_at: rfc3339(rollout.started_at),
    ring_entered_at: rfc3339(enteredAtMs),
    ended_at: endedAt === null ? null : rfc3339(endedAt),
    waits_for: waits,
    packages: await countPackages(db, rollout.id),
    hosts: counts.reduce((sum, { hosts }) => sum + hosts, 0),
    outcomes: sumOf(counts),
  };
}

export async function rolloutDetail(db: Db, ringed: RingedRollout, nowMs: number): Promise<RolloutDetail> {
  const { rollout, policy, rings } = ringed;
  const facts = await rolloutFacts(db, { ...ringed, nowMs, couldReport: true });
  const lanes: RolloutRing[] = [];
  for (const [i, ring] of rings.entries()) lanes.push(await laneOf(rollout, ring, { i, facts }));
  const packages = await packagesOf(db, rollout.id, ROLLOUT_PACKAGES_SHOWN);
  const { halted_at: haltedAt, halted_by: by, halt_reason: reason } = rollout;
  return {
    ...(await itemOf(db, ringed, facts, nowMs)),
    lanes,
    halt: haltedAt === null ? null : { at: rfc3339(haltedAt), by: by ?? 'server', reason: reason ?? '' },
    package_list: packages.map(({ ecosystem, name, version, hosts }) => ({
      ...{ ecosystem: Value.Parse(Ecosystem, ecosystem), name, version, hosts },
    })),
    unrepresented: unrepresentedIn(await systemsOf(db, rollout.id)),
    in_force: policy.ended_at === null && policy.ends_at > nowMs,
  };
}

async function laneOf(
  rollout: RolloutRow,
  { name, members, gate }: Ring,
  { i, facts }: { i: number; facts: RolloutFacts },
): Promise<RolloutRing> {
  const { hosts, late, excused, outcomes } = facts.counts.get(i) ?? NO_HOSTS;
  const at = enteredOf(rollout)[i];
  const own = gate && (await facts.of(i));
  return {
    ...{ ring: i, name, members, hosts, late, excused, outcomes },
    state: i > rollout.ring ? 'ahead' : i === rollout.ring ? 'current' : 'passed',
    entered_at: at === undefined ? null : rfc3339(at),
    conditions: gate && own ? conditionsOf(gate, own, { skipsSoak: rollout.lane === 'emergency' }) : [],
  };
}

export function hostView(row: RolloutHostRow & { hostname: string }): RolloutHost {
  const { delivered_at: delivered, settled_at: settled } = row;
  return Value.Parse(RolloutHost, {
    ...{ agent_id: row.agent_id, hostname: row.hostname, ring: row.ring, late: row.late === 1 },
    ...{ outcome: row.outcome, excused: row.excused === 1, reason: row.reason },
    delivered_at: delivered === null ? null : rfc3339(delivered),
    settled_at: settled === null ? null : rfc3339(settled),
  });
}
