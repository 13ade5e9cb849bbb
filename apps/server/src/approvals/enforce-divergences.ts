import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { findAgent } from '../agents/store.ts';
import {
  type ApprovalRow,
  liveApprovalsNaming,
  liveApprovalsOfAgent,
  updatesOfTokens,
} from '../approval-tokens/store.ts';
import { type EnforcementRow, endEnforcement, nextEnforcements } from '../artifacts/enforcement-store.ts';
import { sightingsOf } from '../artifacts/identity-rules.ts';
import { readBoundDivergences } from '../artifacts/read-divergences.ts';
import { passes } from '../artifacts/standing-rules.ts';
import { hashesOf } from '../artifacts/store.ts';
import { chunks } from '../platform/db/chunks.ts';
import { findUpdate, readPlan } from '../updates/store.ts';
import { withdrawToken } from './change-approval.ts';
import type { ApprovalDeps } from './deps.ts';

/** Queue entries processed together. */
export const SLICE_ENTRIES = 20;
/** Slices per run; the next run continues. */
const SLICES_MAX = 50;
/** Hashes per statement. */
const STATEMENT_HASHES = 50;
/** Approvals read per statement. */
const PAGE_APPROVALS = 200;

type Deps = Pick<ApprovalDeps, 'platform'>;
type ReadPage = (after: string) => Promise<ApprovalRow[]>;

/**
 * Withdraws live approvals that bind a hash which lost after they were given, or a hash reported only by a host that was
 * set aside: their updates wait for an operator again. An installation under way continues; its host reports the
 * outcome.
 */
export async function enforceDivergences(deps: Deps, isStopped: () => boolean = () => false): Promise<void> {
  for (let slice = 0; slice < SLICES_MAX && !isStopped(); slice++) {
    if (!(await enforceSlice(deps))) return;
  }
}

/** Processes the next queue entries; false when there are none. */
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
      const taken = { tokenId: row.token_id, reason: 'artifact_divergence', sparesInstalling: true };
      await withdrawToken(deps, taken);
    }
  }
}

/** Asks the present rules: a hash in the text of a plan may belong to another artifact with the same bytes. */
async function isBlocked({ platform }: Deps, row: ApprovalRow): Promise<boolean> {
  const db = platform.database.read;
  const [updateId = ''] = await updatesOfTokens(db, [row.token_id]);
  const update = await findUpdate(db, updateId);
  const agent = await findAgent(db, row.agent_id);
  const plan = await readPlan(db, row.plan_id);
  const ecosystem: unknown = update?.ecosystem;
  if (!Value.Check(Ecosystem, ecosystem) || !agent || !plan) return false;
  const host = { osId: agent.os_id, osArch: agent.os_arch };
  const sightings = () => sightingsOf({ ecosystem, host, actions: plan.actions });
  const [bound = []] = await readBoundDivergences(db, [{ agentId: agent.id, sightings }]);
  return bound.length > 0;
}
