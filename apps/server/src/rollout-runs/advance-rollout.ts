import type { PolicyScope } from '@tidegate/protocol/policies-api';
import type { Ring } from '@tidegate/protocol/rings';
import { withTags } from '../agents/host-scope.ts';
import { patienceOf } from '../agents/presence.ts';
import type { ApprovalDeps } from '../approvals/deps.ts';
import { queueCommands } from '../commands/queue-command.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Listening } from '../platform/listening.ts';
import { takeTurn } from '../platform/turns.ts';
import { hostsBySystem } from '../policy-runs/candidates-store.ts';
import { conditionsOf, haltOf, hasWork, hosts as hostsText } from '../rollouts/gate-rules.ts';
import { ringScopes, ringsOf } from '../rollouts/ring-rules.ts';
import { enteredOf, moveRollout, type RolloutRow } from '../rollouts/store.ts';
import { haltRollout } from './halt-rollout.ts';
import { type RolloutFacts, rolloutFacts } from './ring-facts.ts';
import { recordRollout } from './rollout-events.ts';
import { sumOf } from './watch-store.ts';

const MINUTE_MS = 60_000;
/** Hosts of a policy that are read together. */
const PAGE_HOSTS = 1_000;

interface Going {
  readonly rollout: RolloutRow;
  readonly rings: readonly Ring[];
  readonly policyName: string;
  /** Of the policy. */
  readonly scope: PolicyScope;
  readonly listening: Listening;
}

type Named = Pick<Going, 'rollout' | 'rings' | 'policyName'>;

/** Halts a rollout that runs, enters its next ring or ends it, if its hosts say so; every step only from the state that was read. */
export async function advanceRollout(
  { platform }: Pick<ApprovalDeps, 'platform'>,
  { rollout, rings, policyName, scope, listening }: Going,
): Promise<void> {
  const nowMs = platform.now();
  const couldReport =
    nowMs - (await listening.since(nowMs)) >= patienceOf({ polling_interval_seconds: null });
  const facts = await rolloutFacts(platform.database.read, { rollout, rings, nowMs, couldReport });
  for (const [i, ring] of rings.entries()) {
    if (i > rollout.ring) break;
    const reason = haltOf(ring, rings[i - 1] ?? null, await facts.of(i));
    if (reason === null) continue;
    const halt = { rollout, policyName, by: 'server', reason };
    await platform.database.transact((tx) => haltRollout(tx, platform, halt));
    return;
  }
  const gate = rings[rollout.ring]?.gate ?? null;
  if (gate === null) return finish({ platform }, { rollout, rings, policyName, couldReport }, facts);
  const own = await facts.of(rollout.ring);
  await askForProbes({ platform }, rollout, own.unasked);
  if (rollout.lane === 'emergency' && rollout.asked_ring !== rollout.ring && !hasWork(own)) {
    await askToScan({ platform }, { rollout, rings, scope });
  }
  const conditions = conditionsOf(gate, own, { skipsSoak: rollout.lane === 'emergency' });
  if (conditions.some(({ met }) => !met)) return;
  await platform.database.transact((tx) => enterNext(tx, { platform }, { rollout, rings, policyName }));
}

async function enterNext(
  tx: Tx,
  { platform }: Pick<ApprovalDeps, 'platform'>,
  { rollout, rings, policyName }: Named,
): Promise<void> {
  const ring = rollout.ring + 1;
  const entered = JSON.stringify([...enteredOf(rollout), platform.now()]);
  const set = { ring, entered };
  const next = await moveRollout(tx, { id: rollout.id, from: ['running'], ring: rollout.ring, set });
  if (!next) return;
  await recordRollout(tx, platform, {
    ...{ type: 'rollout_ring_entered', severity: 'info', actor: 'server', rollout: next, policyName },
    content: { ring_name: rings[ring]?.name ?? '' },
  });
}

/**
 * Ends a rollout whose last ring has its outcomes. What is offline, or what the gate keeps back, has until the deadline of that
 * ring: then it is left to the policy, which goes on asking for these versions, and newer ones need not wait for it.
 */
async function finish(
  { platform }: Pick<ApprovalDeps, 'platform'>,
  { rollout, rings, policyName, couldReport }: Named & { couldReport: boolean },
  { counts }: RolloutFacts,
): Promise<void> {
  const { running, waiting, offline, installed } = sumOf(counts.values());
  const nowMs = platform.now();
  const deadlineMs = (rings[rollout.ring]?.deadline_minutes ?? 0) * MINUTE_MS;
  const isPast = couldReport && nowMs - (enteredOf(rollout)[rollout.ring] ?? nowMs) >= deadlineMs;
  if (running > 0 || (waiting + offline > 0 && !isPast)) return;
  const left = waiting + offline;
  const end_reason =
    left === 0
      ? `Finished: ${hostsText(installed)} installed.`
      : `Finished: ${hostsText(installed)} installed; ${hostsText(left)} had not received anything by the deadline and will get it later.`;
  const set = { state: 'finished', ended_at: nowMs, end_reason } as const;
  await platform.database.transact(async (tx) => {
    const ended = await moveRollout(tx, { id: rollout.id, from: ['running'], ring: rollout.ring, set });
    if (!ended) return;
    await recordRollout(tx, platform, {
      ...{ type: 'rollout_finished', severity: 'info', actor: 'server', rollout: ended, policyName },
      content: { installed, left },
    });
  });
}

/** Has hosts whose soak is over look at their probes, once each. */
async function askForProbes(
  { platform }: Pick<ApprovalDeps, 'platform'>,
  rollout: RolloutRow,
  agentIds: readonly string[],
): Promise<void> {
  for (const some of chunks(agentIds)) {
    await platform.database.transact(async (tx) => {
      const rows = await tx
        .updateTable('rollout_hosts')
        .set({ probes_asked: 1 })
        .where('rollout_id', '=', rollout.id)
        .where('agent_id', 'in', some)
        .where('probes_asked', '=', 0)
        .returning('agent_id')
        .execute();
      const asking = { action: 'run_probes', params: {}, createdBy: 'policy' } as const;
      await queueCommands(
        tx,
        platform,
        rows.map(({ agent_id: agentId }) => ({ agentId, ...asking })),
      );
    });
  }
}

/** Has every host of a ring scan that has nothing to install, so that an emergency need not wait for its deadline. */
async function askToScan(
  { platform }: Pick<ApprovalDeps, 'platform'>,
  { rollout, rings, scope }: Pick<Going, 'rollout' | 'rings' | 'scope'>,
): Promise<void> {
  const db = platform.database.read;
  const ringOf = ringsOf(rollout.policy_id, rings);
  let after = '';
  for (;;) {
    const page = await hostsBySystem(db, { scope, after, limit: PAGE_HOSTS });
    const last = page.at(-1);
    if (!last) break;
    after = last.id;
    const own = (await withTags(db, page, ringScopes(rings))).filter((host) => ringOf(host) === rollout.ring);
    const asking = { action: 'scan', params: {}, createdBy: 'policy' } as const;
    const commands = own.map(({ id: agentId }) => ({ agentId, ...asking }));
    if (commands.length > 0) await platform.database.transact((tx) => queueCommands(tx, platform, commands));
    await takeTurn();
  }
  // Last: broken off before, the hosts are asked again, which costs each a scan.
  const set = { asked_ring: rollout.ring, asked_at: platform.now() };
  const { id, ring } = rollout;
  await platform.database.transact((tx) => moveRollout(tx, { id, from: ['running'], ring, set }));
}
