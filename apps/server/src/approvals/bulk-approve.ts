import {
  BULK_MAX_UPDATES,
  type BulkApproveAnswer,
  type BulkApproveRequest,
} from '@tidegate/protocol/approvals-api';
import type { Subject } from '../advisories/subjects.ts';
import { subjectKey } from '../advisories/subjects.ts';
import { type GroupScope, isInScope } from '../platform/db/group-scope.ts';
import { type AgeSubject, timeKey } from '../release-times/subjects.ts';
import { countUpdates, listUpdateIds } from '../updates/list-store.ts';
import { judgedParts } from '../updates/many-store.ts';
import { awaitPlan } from './await-plan.ts';
import type { Progress } from './bulk-progress.ts';
import { type ApprovalDeps, policyOf, WAIT_MS } from './deps.ts';
import { judge } from './gate.ts';
import type { ApprovalRequest, UpdateFacts } from './gate-facts.ts';
import { ageReport, divergencesOf, packageOf, unknownArtifactsOf, verdictParts } from './gate-report.ts';
import { factsOf, type Waited, waitForSources } from './load-facts.ts';
import { type LoadedUpdate, loadUpdates, subjectsOfUpdate } from './load-update.ts';
import { type Minting, mintApprovals } from './mint-approval.ts';
import { type BulkBlock, recordBulkBlock } from './record-block.ts';
import type { Verdict } from './verdict.ts';
import { withPolicyInForce } from './vulnerability-policy.ts';

/** Updates that are judged and minted together. */
const CHUNK_UPDATES = 100;
/** Vulnerabilities of each part listed per blocked update, the most severe first. */
const BLOCKED_PART_MAX = 50;
/** A6: a bulk request has no override, and no field that could become one. */
const PLAIN: ApprovalRequest = { by: 'operator', override: false, overrideReason: null };

export type BulkOutcome =
  | { readonly kind: 'done'; readonly answer: BulkApproveAnswer }
  | { readonly kind: 'count_differs'; readonly count: number }
  | { readonly kind: 'too_many'; readonly count: number }
  | { readonly kind: 'progress_id_used' };

export interface BulkApproval {
  readonly request: BulkApproveRequest;
  readonly operator: string;
  readonly scope: GroupScope;
  readonly progress: Progress;
}

/**
 * Approves many updates (E4): one wait for the whole request, then the same gate for each as in a single approval.
 * Updates that the gate stops are returned in `blocked`, to be approved one at a time, each with its own reason (A6).
 */
export async function bulkApprove(
  opened: ApprovalDeps,
  { request, operator, scope, progress }: BulkApproval,
): Promise<BulkOutcome> {
  const deps = await withPolicyInForce(opened);
  const named = await updateIds(deps, { request, scope });
  if (named.kind !== 'ids') return named;
  if (!(await progress.start(named.ids.length))) return { kind: 'progress_id_used' };
  const answer: BulkApproveAnswer = { approved: [], awaiting_plan: [], blocked: [], skipped: [] };
  const blocks: BulkBlock[] = [];
  let state: 'done' | 'failed' = 'failed';
  try {
    const waited = await waitForAll(deps, { ids: named.ids, scope });
    for (const ids of await partsOf(deps, named.ids)) {
      blocks.push(...(await approveChunk(deps, { ids, scope, waited, operator, answer })));
      await progress.step(answer);
    }
    state = 'done';
  } finally {
    try {
      // Decisions of earlier chunks stay when a later one fails, and so does the event (A6).
      await recordBulkBlock(deps, { blocks, actor: operator });
    } finally {
      await progress.end(answer, state);
    }
  }
  return { kind: 'done', answer };
}

type Named = { kind: 'ids'; ids: string[] } | Extract<BulkOutcome, { kind: 'count_differs' | 'too_many' }>;

async function updateIds(
  { platform }: ApprovalDeps,
  { request, scope }: { request: BulkApproveRequest; scope: GroupScope },
): Promise<Named> {
  if ('update_ids' in request) return { kind: 'ids', ids: [...new Set(request.update_ids)] };
  const db = platform.database.read;
  const selection = { filter: request.filter, scope };
  const count = await countUpdates(db, selection);
  // The operator confirms the number that the console showed; if it has changed, nothing happens.
  if (count !== request.confirm_count) return { kind: 'count_differs', count };
  if (count > BULK_MAX_UPDATES) return { kind: 'too_many', count };
  return { kind: 'ids', ids: await listUpdateIds(db, { ...selection, limit: BULK_MAX_UPDATES }) };
}

function partsOf({ platform }: ApprovalDeps, updateIds: readonly string[]): Promise<string[][]> {
  return judgedParts(platform.database.read, { updateIds, most: CHUNK_UPDATES });
}

/** One wait of 10 s for the whole request, over all distinct subjects. */
async function waitForAll(
  deps: ApprovalDeps,
  { ids, scope }: { ids: readonly string[]; scope: GroupScope },
): Promise<Waited> {
  const advisories = new Map<string, Subject>();
  const aged = new Map<string, AgeSubject>();
  for (const some of await partsOf(deps, ids)) {
    for (const loaded of (await loadInScope(deps, { ids: some, scope })).values()) {
      if (!isOpen(loaded)) continue;
      const subjects = subjectsOfUpdate(loaded);
      for (const subject of subjects.advisories) advisories.set(subjectKey(subject), subject);
      for (const subject of subjects.aged) aged.set(timeKey(subject), subject);
    }
  }
  const all = { advisories: [...advisories.values()], aged: [...aged.values()] };
  return waitForSources(deps, all, deps.waitMs ?? WAIT_MS);
}

interface Chunk {
  readonly ids: readonly string[];
  readonly scope: GroupScope;
  readonly waited: Waited;
  readonly operator: string;
  readonly answer: BulkApproveAnswer;
}

async function approveChunk(
  deps: ApprovalDeps,
  { ids, scope, waited, operator, answer }: Chunk,
): Promise<BulkBlock[]> {
  const open: LoadedUpdate[] = [];
  const found = await loadInScope(deps, { ids, scope });
  for (const id of ids) {
    const loaded = found.get(id);
    if (loaded && isOpen(loaded)) open.push(loaded);
    else answer.skipped.push({ update_id: id, code: loaded ? 'conflict' : 'not_found' });
  }
  const facts = await factsOf(deps, open, waited);
  const judged = open.flatMap((loaded, i) => {
    const known = facts[i];
    return known ? [{ loaded, facts: known, verdict: judge(known, policyOf(deps), PLAIN) }] : [];
  });
  // Only results of the committed run enter the answer: the transaction may run more than once.
  const written = await deps.platform.database.transact(async (tx) => {
    const results: Written[] = [];
    const mintings: (Minting & { loaded: LoadedUpdate })[] = [];
    for (const { loaded, facts: known, verdict } of judged) {
      if (verdict.kind === 'plan_unknown') {
        const asked = await awaitPlan(tx, deps, { loaded, actor: operator, notBeforeMs: null });
        results.push({ loaded, kind: asked === 'awaiting_plan' ? asked : 'conflict' });
      } else if (verdict.kind === 'mint') {
        const minting = { ...{ loaded, facts: known, verdict }, approvedBy: operator, actor: operator };
        mintings.push({ ...minting, request: PLAIN, via: 'bulk', notBeforeMs: null });
      }
    }
    for (const [i, minted] of (await mintApprovals(tx, deps, mintings)).entries()) {
      const loaded = mintings[i]?.loaded;
      if (!loaded) continue;
      if (minted.kind === 'minted') results.push({ loaded, ...minted });
      else results.push({ loaded, kind: minted.kind === 'verdict_changed' ? 'verdict_pending' : 'conflict' });
    }
    return results;
  });
  for (const one of written) addWritten(answer, one);
  return judged.flatMap(({ loaded, facts: known, verdict }) =>
    addJudged(answer, { loaded, verdict, facts: known }),
  );
}

type Written =
  | { readonly loaded: LoadedUpdate; readonly kind: 'awaiting_plan' | 'conflict' | 'verdict_pending' }
  | { readonly loaded: LoadedUpdate; readonly kind: 'minted'; readonly tokenId: string };

function addWritten(answer: BulkApproveAnswer, one: Written): void {
  const update_id = one.loaded.update.id;
  if (one.kind === 'minted') answer.approved.push({ update_id, token_id: one.tokenId });
  else if (one.kind === 'awaiting_plan') answer.awaiting_plan.push(update_id);
  else answer.skipped.push({ update_id, code: one.kind });
}

function addJudged(
  answer: BulkApproveAnswer,
  { loaded, facts, verdict }: { loaded: LoadedUpdate; facts: UpdateFacts; verdict: Verdict },
): BulkBlock[] {
  const update_id = loaded.update.id;
  if (verdict.kind === 'verdict_pending') answer.skipped.push({ update_id, code: 'verdict_pending' });
  if (verdict.kind !== 'blocked') return [];
  answer.blocked.push({
    update_id,
    package: packageOf(loaded),
    blocked_by: verdict.stop.by,
    reason: verdict.stop.reason,
    ...verdictParts(verdict.judged.closure, { excused: verdict.excused, most: BLOCKED_PART_MAX }),
    age: ageReport(verdict.judged.age),
    divergences: divergencesOf(facts),
    unknown_artifacts: unknownArtifactsOf(facts),
  });
  return [{ loaded, facts, verdict, request: PLAIN }];
}

/** Updates outside of the operator's groups do not exist for it. */
async function loadInScope(
  deps: ApprovalDeps,
  { ids, scope }: { ids: readonly string[]; scope: GroupScope },
): Promise<Map<string, LoadedUpdate>> {
  const loaded = await loadUpdates(deps, ids);
  return new Map([...loaded].filter(([, { agent }]) => isInScope(scope, agent.group_name)));
}

function isOpen({ update, agent }: LoadedUpdate): boolean {
  return (update.state === 'pending' || update.state === 'awaiting_plan') && agent.status === 'active';
}
