import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { findAgent } from '../agents/store.ts';
import { type ApprovalRow, liveApprovalsNaming, liveApprovalsOfAgent } from '../approval-tokens/store.ts';
import { type EnforcementRow, endEnforcement, nextEnforcements } from '../artifacts/enforcement-store.ts';
import { sightingsOf } from '../artifacts/identity-rules.ts';
import { readBoundDivergences } from '../artifacts/read-divergences.ts';
import { passes } from '../artifacts/standing-rules.ts';
import { hashesOf } from '../artifacts/store.ts';
import { chunks } from '../platform/db/chunks.ts';
import { findUpdate, readPlan } from '../updates/store.ts';
import { takeBackApproval } from './change-approval.ts';
import type { ApprovalDeps } from './deps.ts';

/** Entries of the queue that are worked on together. */
export const SLICE_ENTRIES = 20;
/** Slices of one run; the next run goes on. */
const SLICES_MAX = 50;
/** Hashes that one statement looks for. */
const STATEMENT_HASHES = 50;
/** Approvals that one statement reads. */
const PAGE_APPROVALS = 200;

type Deps = Pick<ApprovalDeps, 'platform'>;
type ReadPage = (after: string) => Promise<ApprovalRow[]>;

/**
 * Takes back live approvals that bind a hash which lost, or an own word of a host that was set aside, after they were
 * given: their updates wait for a human again. What is being installed already goes on; its host says what became of
 * it.
 */
export async function enforceDivergences(deps: Deps, isStopped: () => boolean = () => false): Promise<void> {
  for (let slice = 0; slice < SLICES_MAX && !isStopped(); slice++) {
    if (!(await enforceSlice(deps))) return;
  }
}

/** Works on what is next in the queue; false where nothing is. */
export async function enforceSlice({ platform }: Deps): Promise<boolean> {
  const db = platform.database.read;
  const entries = await nextEnforcements(db, SLICE_ENTRIES);
  if (entries.length === 0) return false;
  for (const { kind, subject } of entries) {
    if (kind !== 'host') continue;
    const read: ReadPage = (after) =>
      liveApprovalsOfAgent(db, { agentId: subject, after, limit: PAGE_APPROVALS });
    await enforcePages({ platform }, read);
  }
  for (const hashes of chunks(await lostHashes({ platform }, entries), STATEMENT_HASHES)) {
    const read: ReadPage = (after) => liveApprovalsNaming(db, { hashes, after, limit: PAGE_APPROVALS });
    await enforcePages({ platform }, read);
  }
  await platform.database.transact(async (tx) => {
    for (const entry of entries) await endEnforcement(tx, entry);
  });
  return true;
}

async function lostHashes({ platform }: Deps, entries: readonly EnforcementRow[]): Promise<string[]> {
  const ids = entries.flatMap(({ kind, subject }) => (kind === 'divergence' ? [subject] : []));
  const rows = await hashesOf(platform.database.read, ids);
  return [...new Set(rows.flatMap(({ hash, standing }) => (passes(standing) ? [] : [hash])))];
}

async function enforcePages(deps: Deps, readPage: ReadPage): Promise<void> {
  let after = '';
  for (;;) {
    const rows = await readPage(after);
    const last = rows.at(-1);
    if (!last) return;
    after = last.token_id;
    for (const row of rows) {
      if (!(await isBlocked(deps, row))) continue;
      const taken = { updateId: row.update_id, reason: 'artifact_divergence', sparesInstalling: true };
      await takeBackApproval(deps, taken);
    }
  }
}

/** As the gate would say now: a hash that the text of a plan names may belong to another artifact of the same bytes. */
async function isBlocked({ platform }: Deps, row: ApprovalRow): Promise<boolean> {
  const db = platform.database.read;
  const update = await findUpdate(db, row.update_id);
  const agent = await findAgent(db, row.agent_id);
  const plan = await readPlan(db, row.plan_id);
  const ecosystem: unknown = update?.ecosystem;
  if (!Value.Check(Ecosystem, ecosystem) || !agent || !plan) return false;
  const host = { osId: agent.os_id, osArch: agent.os_arch };
  const sightings = sightingsOf({ ecosystem, host, actions: plan.actions });
  const [bound = []] = await readBoundDivergences(db, [{ agentId: agent.id, sightings }]);
  return bound.length > 0;
}
