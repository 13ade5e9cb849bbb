import type { Ring } from '@tidegate/protocol/rings';
import { ROLLOUT_PACKAGES_MAX } from '@tidegate/protocol/rollouts-api';
import type { ScopedHost } from '../agents/host-scope.ts';
import type { ApprovalDeps } from '../approvals/deps.ts';
import type { PolicyRow } from '../policies/store.ts';
import type { WaitingUpdate } from '../policy-runs/candidates-store.ts';
import { membersDigest, ringOfLate, ringsOf } from '../rollouts/ring-rules.ts';
import {
  insertRollout,
  insertRolloutHosts,
  insertRolloutPackages,
  type RolloutHostRow,
  type RolloutRow,
  versionKey,
} from '../rollouts/store.ts';
import { recordRollout } from './rollout-events.ts';

/** What a policy's hosts offer that none of its rollouts has carried. */
export interface Wave {
  readonly packages: Map<string, { ecosystem: string; name: string; version: string; hosts: number }>;
  readonly hosts: Map<string, ScopedHost>;
}

export function emptyWave(): Wave {
  return { packages: new Map(), hosts: new Map() };
}

/** Adds an update of a host to a wave; what is beyond the limit waits for the next. */
export function addToWave(wave: Wave, host: ScopedHost, update: WaitingUpdate): void {
  const { ecosystem, name, available_version: version } = update;
  const key = versionKey({ ecosystem, name, version });
  const known = wave.packages.get(key);
  if (!known && wave.packages.size >= ROLLOUT_PACKAGES_MAX) return;
  wave.packages.set(key, { ecosystem, name, version, hosts: (known?.hosts ?? 0) + 1 });
  wave.hosts.set(host.id, host);
}

/** Begins a rollout with its first ring; nothing where another server has begun one. */
export async function beginRollout(
  { platform }: Pick<ApprovalDeps, 'platform'>,
  { policy, rings, wave }: { policy: PolicyRow; rings: readonly Ring[]; wave: Wave },
): Promise<void> {
  const nowMs = platform.now();
  const id = platform.newId();
  const ringOf = ringsOf(policy.policy_id, rings);
  const hosts = [...wave.hosts.values()].map((host) =>
    hostRow(id, host.id, { ring: ringOf(host), isLate: false }),
  );
  const rollout: RolloutRow = {
    ...{ id, policy_id: policy.policy_id, policy_sha256: policy.sha256 },
    ...{ members_sha256: membersDigest(rings), lane: 'wave', state: 'running' },
    ...{ ring: 0, entered: JSON.stringify([nowMs]), started_at: nowMs },
    ...{ approved_ring: null, approved_by: null, asked_ring: null, asked_at: null },
    ...{ halted_at: null, halted_by: null, halt_reason: null },
    ...{ withdrawn: 0, ended_at: null, end_reason: null },
  };
  await platform.database.transact(async (tx) => {
    if (!(await insertRollout(tx, rollout))) return;
    await insertRolloutPackages(
      tx,
      wave.packages
        .values()
        .map((one) => ({ rollout_id: id, ...one }))
        .toArray(),
    );
    await insertRolloutHosts(tx, hosts);
    await recordRollout(tx, platform, {
      ...{ type: 'rollout_started', severity: 'info', actor: 'server', rollout, policyName: policy.name },
      content: { ring_name: rings[0]?.name ?? '', packages: wave.packages.size, hosts: hosts.length },
    });
  });
}

/** Hosts that offer versions of a rollout that runs, and that it does not have yet. */
export async function addLateHosts(
  { platform }: Pick<ApprovalDeps, 'platform'>,
  given: {
    rollout: RolloutRow;
    rings: readonly Ring[];
    hosts: readonly (ScopedHost & { enrolledAtMs: number })[];
  },
): Promise<void> {
  const { rollout, rings, hosts } = given;
  if (hosts.length === 0) return;
  const ringOf = ringsOf(rollout.policy_id, rings);
  const rows = hosts.map((host) => {
    const at = {
      current: rollout.ring,
      last: rings.length - 1,
      isNew: host.enrolledAtMs >= rollout.started_at,
    };
    return hostRow(rollout.id, host.id, { ring: ringOfLate(ringOf(host), at), isLate: true });
  });
  await platform.database.transact((tx) => insertRolloutHosts(tx, rows));
}

function hostRow(
  rolloutId: string,
  agentId: string,
  { ring, isLate }: { ring: number; isLate: boolean },
): RolloutHostRow {
  return {
    ...{ rollout_id: rolloutId, agent_id: agentId, ring, late: isLate ? 1 : 0, outcome: 'waiting' },
    ...{
      excused: 0,
      reason: null,
      delivered_at: null,
      settled_at: null,
      ended_there_at: null,
      probes_asked: 0,
    },
  };
}
