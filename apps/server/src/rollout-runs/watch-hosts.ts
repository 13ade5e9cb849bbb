import type { Ring } from '@tidegate/protocol/rings';
import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { isOnline, patienceOf } from '../agents/presence.ts';
import { findAgents } from '../agents/store.ts';
import type { ApprovalDeps } from '../approvals/deps.ts';
import type { Listening } from '../platform/listening.ts';
import { takeTurn } from '../platform/turns.ts';
import { latestProbes } from '../probes/store.ts';
import { outcomeOf } from '../rollouts/outcome-rules.ts';
import { type Proof, proofsOf } from '../rollouts/proof-rules.ts';
import { recordProofs } from '../rollouts/proofs-store.ts';
import { orderOf, type RolloutHostRow, type RolloutRow } from '../rollouts/store.ts';
import { readPlans } from '../updates/many-store.ts';
import { offersOfHosts, runsOfHosts, type StoredRun, saveOutcomes, watchedHosts } from './watch-store.ts';

/** Hosts whose facts are read together. */
const PAGE_HOSTS = 300;
const MINUTE_MS = 60_000;

interface Change {
  readonly before: RolloutHostRow;
  readonly after: Pick<
    RolloutHostRow,
    'outcome' | 'reason' | 'delivered_at' | 'settled_at' | 'ended_there_at'
  >;
}

interface Watched {
  readonly rollout: RolloutRow;
  readonly rings: readonly Ring[];
  readonly listening: Listening;
}

/** Brings the outcomes of the rings that were entered up to date, and keeps what their hosts have installed. */
export async function watchHosts(
  { platform }: Pick<ApprovalDeps, 'platform'>,
  { rollout, rings, listening }: Watched,
): Promise<void> {
  let after = '';
  for (;;) {
    const page = await watchedHosts(platform.database.read, { rollout, after, limit: PAGE_HOSTS });
    const last = page.at(-1);
    if (!last) return;
    after = last.agent_id;
    await watchPage({ platform }, { rollout, rings, listening, page });
    await takeTurn();
  }
}

async function watchPage(
  { platform }: Pick<ApprovalDeps, 'platform'>,
  given: Watched & { page: readonly RolloutHostRow[] },
): Promise<void> {
  const { rollout, rings, listening, page } = given;
  const db = platform.database.read;
  const agentIds = page.map(({ agent_id: id }) => id);
  const [agents, runs, offers, probes] = await Promise.all([
    findAgents(db, agentIds),
    runsOfHosts(db, { rollout, agentIds }),
    offersOfHosts(db, { rolloutId: rollout.id, agentIds }),
    latestProbes(db, agentIds),
  ]);
  const nowMs = platform.now();
  const listenedMs = nowMs - (await listening.since(nowMs));
  listening.looked(nowMs);
  const changes: Change[] = [];
  for (const before of page) {
    const { agent_id: id, ring } = before;
    const agent = agents.get(id);
    const own = runs.get(id) ?? [];
    const found = outcomeOf({
      ...{ runs: own, pending: 0, awaited: 0, ...offers.get(id), nowMs },
      probes: probes.get(id) ?? { state: 'unknown', atMs: null },
      isOnline: agent !== undefined && isOnline(agent, nowMs),
      couldReport: before.outcome === 'silent' || !agent || listenedMs >= patienceOf(agent),
      deadlineMs: (rings[ring]?.deadline_minutes ?? 0) * MINUTE_MS,
    });
    const { outcome, reason, deliveredAtMs: delivered_at } = found;
    // The time at which it got its outcome stays while the outcome does; each installation begins the soak anew.
    const isKept = outcome === before.outcome && outcome !== 'installed';
    const settled_at = isKept ? before.settled_at : found.settledAtMs;
    const isSame = outcome === before.outcome && reason === before.reason;
    if (isSame && delivered_at === before.delivered_at && settled_at === before.settled_at) continue;
    const ended_there_at = isKept ? before.ended_there_at : found.endedThereMs;
    changes.push({ before, after: { outcome, reason, delivered_at, settled_at, ended_there_at } });
  }
  if (changes.length === 0) return;
  const proofs = await installedBy(db, { changes, runs, agents });
  await platform.database.transact(async (tx) => {
    await saveOutcomes(tx, changes);
    for (const [ring, own] of proofs) {
      await recordProofs(tx, { ...orderOf(rollout), ring, nowMs, proofs: own });
    }
  });
}

/** What hosts that have become `installed` have installed, by ring. */
async function installedBy(
  db: Parameters<typeof readPlans>[0],
  {
    changes,
    runs,
    agents,
  }: {
    changes: readonly Change[];
    runs: ReadonlyMap<string, readonly StoredRun[]>;
    agents: Awaited<ReturnType<typeof findAgents>>;
  },
): Promise<Map<number, Proof[]>> {
  const installed = changes.filter(({ after }) => after.outcome === 'installed');
  const done = installed.flatMap(({ before }) =>
    (runs.get(before.agent_id) ?? [])
      .filter(({ status }) => status === 'success')
      .map(({ planId, ecosystem }) => ({ planId, ecosystem, ring: before.ring, agentId: before.agent_id })),
  );
  const plans = await readPlans(db, [...new Set(done.map(({ planId }) => planId))]);
  const found = new Map<number, Proof[]>();
  for (const { planId, ecosystem, ring, agentId } of done) {
    const [plan, agent] = [plans.get(planId), agents.get(agentId)];
    if (!plan || !agent || !Value.Check(Ecosystem, ecosystem)) continue;
    const host = { osId: agent.os_id, osArch: agent.os_arch };
    const list = found.get(ring) ?? [];
    list.push(...proofsOf({ ecosystem, host, actions: plan.actions }));
    found.set(ring, list);
  }
  return found;
}
