import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { markRecorded, nextTrusted } from '../artifacts/distrust-store.ts';
import { recordTrusted } from '../artifacts/record-artifacts.ts';
import { setAsideAgain } from '../artifacts/set-aside.ts';
import { judgedParts, readPlans, updatesWithPlan } from '../updates/many-store.ts';
import type { ApprovalDeps } from './deps.ts';

/** Plans recorded per transaction. */
const PAGE_PLANS = 20;
/** Contradictions allowed to a host that is trusted again; with more it is set aside again. */
export const TRUSTED_DIFFERING_MAX = 200;

/**
 * Records the plans of a host that is trusted again: its reports from the time aside are not in the ledger. Until then its
 * updates are compared with the whole ledger. One host at a time, the longest trusted first.
 */
export async function recordTrustedHost({ platform }: Pick<ApprovalDeps, 'platform'>): Promise<void> {
  const { database, now } = platform;
  const host = await nextTrusted(database.read);
  if (!host) return;
  const agentId = host.agent_id;
  let after = '';
  let differing = 0;
  for (;;) {
    const updates = await updatesWithPlan(database.read, { agentId, after, limit: PAGE_PLANS });
    const last = updates.at(-1);
    if (!last) break;
    after = last.id;
    const byId = new Map(updates.map((update) => [update.id, update]));
    for (const ids of await judgedParts(database.read, { updateIds: [...byId.keys()], most: PAGE_PLANS })) {
      const some = ids.flatMap((id) => byId.get(id) ?? []);
      const plans = await readPlans(
        database.read,
        some.map(({ plan_id }) => plan_id),
      );
      differing += await database.transact(async (tx) => {
        let sum = 0;
        for (const { ecosystem, plan_id } of some) {
          const actions = plans.get(plan_id)?.actions;
          if (!actions || !Value.Check(Ecosystem, ecosystem)) continue;
          sum += await recordTrusted(tx, platform, { agentId, ecosystem, actions });
        }
        return sum;
      });
    }
    if (differing <= TRUSTED_DIFFERING_MAX) continue;
    await database.transact((tx) => setAsideAgain(tx, platform, { agentId, differing }));
    return;
  }
  await database.transact((tx) =>
    markRecorded(tx, { agentId, liftedAtMs: host.lifted_at ?? 0, nowMs: now() }),
  );
}
