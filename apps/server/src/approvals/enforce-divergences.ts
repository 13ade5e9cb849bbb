import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { findAgent } from '../agents/store.ts';
import { sightingsOf } from '../artifacts/identity-rules.ts';
import { readBoundDivergences } from '../artifacts/read-divergences.ts';
import { type DivergenceRow, hashesOf, markEnforced, unenforcedDivergences } from '../artifacts/store.ts';
import { findUpdate, readPlan } from '../updates/store.ts';
import { takeBackApproval } from './change-approval.ts';
import type { ApprovalDeps } from './deps.ts';
import { type ApprovalRow, liveApprovalsNaming } from './store.ts';

/** Divergences that one run looks at; the next run goes on. */
const DIVERGENCES_MAX = 100;
/** Approvals that one statement reads. */
const PAGE_APPROVALS = 200;

type Deps = Pick<ApprovalDeps, 'platform'>;

/**
 * Takes back live approvals that bind a hash which came into dispute, or was refused, after they were given: their
 * updates wait for a human again. What is being installed already goes on; its host says what became of it.
 */
export async function enforceDivergences(deps: Deps): Promise<void> {
  const { database, now } = deps.platform;
  for (const divergence of await unenforcedDivergences(database.read, DIVERGENCES_MAX)) {
    const hashes = await hashesOf(database.read, [divergence.id]);
    for (const { hash, standing } of hashes)
      if (standing !== 'accepted') await enforce(deps, divergence, hash);
    const { id, hash_count: hashCount, decided_at: decidedAtMs } = divergence;
    await database.transact((tx) => markEnforced(tx, { id, hashCount, decidedAtMs, nowMs: now() }));
  }
}

async function enforce(deps: Deps, { id }: DivergenceRow, hash: string): Promise<void> {
  const db = deps.platform.database.read;
  let after = '';
  for (;;) {
    const rows = await liveApprovalsNaming(db, { hash, after, limit: PAGE_APPROVALS });
    const last = rows.at(-1);
    if (!last) return;
    after = last.token_id;
    for (const row of rows) {
      if (!(await binds(deps, row, id))) continue;
      const taken = { updateId: row.update_id, reason: 'artifact_divergence', sparesInstalling: true };
      await takeBackApproval(deps, taken);
    }
  }
}

/** The text of a plan may name a hash that belongs to another artifact of the same bytes. */
async function binds({ platform }: Deps, row: ApprovalRow, divergenceId: string): Promise<boolean> {
  const db = platform.database.read;
  const update = await findUpdate(db, row.update_id);
  const agent = await findAgent(db, row.agent_id);
  const plan = await readPlan(db, row.plan_id);
  const ecosystem: unknown = update?.ecosystem;
  if (!Value.Check(Ecosystem, ecosystem) || !agent || !plan) return false;
  const host = { osId: agent.os_id, osArch: agent.os_arch };
  const sightings = sightingsOf({ ecosystem, host, actions: plan.actions });
  const [bound = []] = await readBoundDivergences(db, [sightings]);
  return bound.some((divergence) => divergence.divergenceId === divergenceId);
}
