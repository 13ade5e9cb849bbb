import {
  BLOCKED_ORIGINS_MAX,
  BULK_MAX_UPDATES,
  type BulkApproveAnswer,
  type BulkApproveRequest,
} from '@tidegate/protocol/approvals-api';
import { UPDATE_FILTERS } from '@tidegate/protocol/filter-text';
import { isReported } from '@tidegate/protocol/tags-api';
import type { Subject } from '../advisories/subjects.ts';
import { subjectKey } from '../advisories/subjects.ts';
import { awaitPlan } from '../commands/await-plan.ts';
import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { GroupScope } from '../platform/db/group-scope.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { type AgeSubject, timeKey } from '../release-times/subjects.ts';
import { withHeld } from '../updates/held-store.ts';
import { countUpdates, listUpdateIds } from '../updates/list-store.ts';
import { lockHostSums, lockUpdates } from '../updates/lock-updates.ts';
import { groupUpdates, judgedGroups, type UpdateGroup } from '../updates/many-store.ts';
import { openVersionsOf } from '../updates/rivals-store.ts';
import type { UpdateRow } from '../updates/store.ts';
import { EVENT_UPDATES_MAX } from '../updates/update-set.ts';
import type { Asker } from './asker.ts';
import type { Progress } from './bulk-progress.ts';
import { type ApprovalDeps, ATTEMPTS, WAIT_MS, waitLeftMs } from './deps.ts';
import { halvesOf } from './flagged-set-rules.ts';
import {
  ageReport,
  divergencesOf,
  holdsOf,
  packageOf,
  thirdPartyOriginsOf,
  unknownArtifactsOf,
  verdictParts,
} from './gate-report.ts';
import {
  CHUNK_UPDATES,
  type Decided,
  isOpen,
  type Judging,
  judgeGroups,
  judgeKnown,
  loadInScope,
  loadWhole,
  partsOf,
} from './judge-groups.ts';
import { type Waited, waitForSources } from './load-facts.ts';
import { type LoadedSet, subjectsOfUpdate } from './load-update.ts';
import { type Minting, mintApprovals } from './mint-approval.ts';
import { type BulkBlock, recordBulkBlock } from './record-block.ts';
import { withPolicyInForce } from './vulnerability-policy.ts';

/** Vulnerabilities of each part listed per blocked update, the most severe first. */
const BLOCKED_PART_MAX = 50;
export type BulkOutcome =
  | { readonly kind: 'done'; readonly answer: BulkApproveAnswer }
  | { readonly kind: 'count_differs'; readonly count: number }
  | { readonly kind: 'too_many'; readonly count: number }
  | { readonly kind: 'progress_id_used' };

export interface BulkApproval {
  readonly request: BulkApproveRequest;
  readonly asker: Asker;
  readonly progress: Progress;
}

/**
 * Approves many updates (E4): one wait for the whole request, then the same gate for each as in a single approval. Those of
 * one host, ecosystem and place are one set, with one plan, one verdict and one token. Updates that the gate stops are
 * returned in `blocked`, to be approved one at a time, each with its own reason (A6). A verdict that changes before it is
 * written is asked for again, as in a single approval.
 */
export async function bulkApprove(
  opened: ApprovalDeps,
  { request, asker, progress }: BulkApproval,
): Promise<BulkOutcome> {
  const deps = await withPolicyInForce(opened);
  const named = await namedUpdates(deps, { request, scope: asker.scope });
  if (named.kind !== 'ids') return named;
  if (!(await progress.start(named.ids.length))) return { kind: 'progress_id_used' };
  const answer: BulkApproveAnswer = { approved: [], awaiting_plan: [], blocked: [], skipped: [] };
  const blocks: BulkBlock[] = [];
  const act: Act = { ids: named.ids, filter: filterOf(request), eventId: null };
  let state: 'done' | 'failed' = 'failed';
  try {
    const untilMs = deps.platform.now() + (deps.waitMs ?? WAIT_MS);
    let ids: readonly string[] = named.ids;
    for (let attempt = 1; ids.length > 0 && attempt <= ATTEMPTS; attempt++) {
      const judging = attempt === 1 ? deps : await withPolicyInForce(opened);
      ids = await approveIds(judging, { ids, asker, act, progress, untilMs, answer, blocks });
    }
    answer.skipped.push(...ids.map((update_id) => ({ update_id, code: 'verdict_pending' as const })));
    state = 'done';
  } finally {
    try {
      // Decisions of earlier chunks stay when a later one fails, and so does the event (A6).
      await recordBulkBlock(deps, { blocks, asker });
    } finally {
      await progress.end(answer, state);
    }
  }
  return { kind: 'done', answer };
}

/** The request as one act. */
interface Act {
  readonly ids: readonly string[];
  /** What chose them, as filter text; null: they were chosen one by one. */
  readonly filter: string | null;
  /** Its event, written with the first of its approvals. */
  eventId: string | null;
}

interface Approving extends Pick<BulkApproval, 'asker' | 'progress'> {
  readonly act: Act;
  readonly ids: readonly string[];
  readonly untilMs: number;
  readonly answer: BulkApproveAnswer;
  readonly blocks: BulkBlock[];
}

function filterOf(request: BulkApproveRequest): string | null {
  return 'filter' in request ? UPDATE_FILTERS.format(request.filter) : null;
}

/** Returns the updates about whose verdict something else became known before it was written: to be judged again. */
async function approveIds(deps: ApprovalDeps, approving: Approving): Promise<string[]> {
  const { ids, asker, act, progress, untilMs, answer, blocks } = approving;
  const changed: string[] = [];
  const groups = await groupUpdates(deps.platform.database.read, ids);
  // What is known already is not waited for, and read only once.
  const rest: UpdateGroup[] = [];
  for (const some of judgedGroups(groups, CHUNK_UPDATES)) {
    const known = await judgeKnown(deps, { groups: some, asker });
    rest.push(...known.rest);
    changed.push(...(await writeAll(deps, { decided: known.decided, asker, act, answer })));
    await progress.step(answer);
  }
  const waited = await waitForAll(deps, { groups: rest, asker, untilMs });
  for (const some of judgedGroups(rest, CHUNK_UPDATES)) {
    const chunk = await approveChunk(deps, { groups: some, asker, act, waited, untilMs, answer });
    blocks.push(...chunk.blocks);
    changed.push(...chunk.changed);
    await progress.step(answer);
  }
  return changed;
}

export type Named =
  | { kind: 'ids'; ids: string[] }
  | Extract<BulkOutcome, { kind: 'count_differs' | 'too_many' }>;

/** The updates that a request is about. */
export async function namedUpdates(
  { platform }: ApprovalDeps,
  { request, scope }: { request: BulkApproveRequest; scope: GroupScope },
): Promise<Named> {
  if ('update_ids' in request) return { kind: 'ids', ids: [...new Set(request.update_ids)] };
  const { tag } = request.filter;
  if (tag !== undefined && isReported(tag)) {
    throw new Refusal('invalid_request', {
      detail: `Hosts report ${tag} of themselves: one could add itself to what is approved. Choose the updates, or filter by a tag that operators set.`,
      errors: [{ path: '/filter/tag', message: 'must be a tag that operators set' }],
    });
  }
  const db = platform.database.read;
  const selection = { filter: await withHeld(platform, request.filter), scope };
  const count = await countUpdates(db, selection);
  // The operator confirms the number that the console showed; if it has changed, nothing happens.
  if (count !== request.confirm_count) return { kind: 'count_differs', count };
  if (count > BULK_MAX_UPDATES) return { kind: 'too_many', count };
  return { kind: 'ids', ids: await listUpdateIds(db, { ...selection, limit: BULK_MAX_UPDATES }) };
}

/** One wait of 10 s at most for the whole request, over all distinct subjects of what is judged first. */
async function waitForAll(
  deps: ApprovalDeps,
  { groups, asker, untilMs }: Pick<Judging, 'groups' | 'asker' | 'untilMs'>,
): Promise<Waited> {
  const advisories = new Map<string, Subject>();
  const aged = new Map<string, AgeSubject>();
  function add(loaded: LoadedSet): void {
    const subjects = subjectsOfUpdate(loaded);
    for (const subject of subjects.advisories) advisories.set(subjectKey(subject), subject);
    for (const subject of subjects.aged) aged.set(timeKey(subject), subject);
  }
  for (const some of judgedGroups(groups, CHUNK_UPDATES)) {
    const whole = await loadWhole(deps, { groups: some, asker });
    for (const set of whole.values()) add(set);
    const others = some.filter((group) => !whole.has(group)).flatMap(({ updateIds }) => updateIds);
    for (const ids of await partsOf(deps, others)) {
      for (const loaded of (await loadInScope(deps, { ids, scope: asker.scope })).values())
        if (isOpen(loaded)) add(loaded);
    }
  }
  const all = { advisories: [...advisories.values()], aged: [...aged.values()] };
  return waitForSources(deps, all, waitLeftMs(deps, untilMs));
}

interface Chunk extends Judging {
  readonly act: Act;
  readonly answer: BulkApproveAnswer;
}

async function approveChunk(
  deps: ApprovalDeps,
  chunk: Chunk,
): Promise<{ blocks: BulkBlock[]; changed: string[] }> {
  const { asker, act, answer } = chunk;
  const { decided, blocks, skipped } = await judgeGroups(deps, chunk);
  const changed = await writeAll(deps, { decided, asker, act, answer });
  answer.skipped.push(...skipped);
  const all = [...blocks, ...decided.flatMap((one) => (one.kind === 'split' ? one.blocks : []))];
  for (const block of all) addBlock(answer, block);
  return { blocks: all, changed };
}

/** Returns the ids of `approveIds`. */
async function writeAll(
  deps: ApprovalDeps,
  { answer, act, asker, decided }: Pick<Chunk, 'asker' | 'act' | 'answer'> & { decided: readonly Decided[] },
): Promise<string[]> {
  if (decided.length === 0) return [];
  // Only results of the committed run enter the answer and the act: the transaction may run more than once.
  const { written, bulkId } = await deps.platform.database.transact(async (tx) => {
    const bulkId = act.eventId ?? (await recordAct(tx, deps, { act, asker }));
    return { bulkId, written: await writeDecided(tx, deps, { decided, asker, bulkId }) };
  });
  act.eventId = bulkId;
  const changed: string[] = [];
  for (const one of written) {
    if (one.kind === 'verdict_changed') changed.push(one.id);
    else addWritten(answer, one);
  }
  return changed;
}

/** The event of a person's request, which those of its approvals name; null: a policy asks, which they name too. */
async function recordAct(
  tx: Tx,
  { platform }: ApprovalDeps,
  { act: { ids, filter }, asker: { actor, via } }: Pick<Chunk, 'act' | 'asker'>,
): Promise<string | null> {
  if (via === 'policy') return null;
  return appendEvent(tx, platform, {
    ...{ kind: 'system', type: 'bulk_approval_asked', severity: 'info', component: 'approvals', actor },
    content: { actor, filter, updates: ids.slice(0, EVENT_UPDATES_MAX), update_count: ids.length },
  });
}

async function writeDecided(
  tx: Tx,
  deps: ApprovalDeps,
  { decided, asker, bulkId }: Pick<Chunk, 'asker'> & { decided: readonly Decided[]; bulkId: string | null },
): Promise<Written[]> {
  const { operator, actor, via, until, policy } = asker;
  await lockDecided(tx, deps, decided);
  const results: Written[] = [];
  const waiting: { updates: readonly UpdateRow[]; round: number }[] = [];
  const mintings: Minting[] = [];
  for (const one of decided) {
    if (one.kind === 'mint') {
      const { loaded, facts, verdict, request } = one;
      const asking = { approvedBy: operator, actor, request, via, bulkId, notBeforeMs: null, until };
      mintings.push({ loaded, facts, verdict, ...asking });
    } else {
      // What is left of a flagged set has had its first round.
      const round = one.kind === 'split' ? 1 : 0;
      waiting.push(...one.sets.map((updates) => ({ updates, round })));
    }
  }
  for (const [i, minted] of (await mintApprovals(tx, deps, mintings)).entries()) {
    const { updates = [] } = mintings[i]?.loaded ?? {};
    if (minted.kind === 'minted') {
      results.push(...updates.map(({ id }): Written => ({ id, kind: 'minted', tokenId: minted.tokenId })));
    } else if (minted.kind === 'verdict_changed') {
      results.push(...updates.map(({ id }): Written => ({ id, kind: 'verdict_changed' })));
    } else if (updates.length === 1) {
      results.push(...updates.map(({ id }): Written => ({ id, kind: 'conflict' })));
    } else {
      // Somebody has decided about one of them, or the plan has changed: the others are another transaction.
      const sets = minted.kind === 'too_large' ? halvesOf(updates) : [updates];
      waiting.push(...sets.map((set) => ({ updates: set, round: 0 })));
    }
  }
  for (const { updates, round } of waiting) {
    const asking = {
      askedBy: operator,
      policy,
      bulkId,
      askedAtMs: deps.platform.now(),
      round,
      actor,
      notBeforeMs: null,
    };
    const ids = new Set(await awaitPlan(tx, deps.platform, { updates, ...asking }));
    results.push(
      ...updates.map(({ id }): Written => ({ id, kind: ids.has(id) ? 'awaiting_plan' : 'conflict' })),
    );
  }
  return results;
}

/**
 * Sets that wait are written one after another, in the order of the request: what they lock is locked before, so that two
 * requests for the same hosts do not deadlock. Approvals are written together, and need none of it.
 */
async function lockDecided(tx: Tx, { platform }: ApprovalDeps, decided: readonly Decided[]): Promise<void> {
  if (decided.every(({ kind }) => kind === 'mint')) return;
  const updates = decided.flatMap((one) => (one.kind === 'mint' ? one.loaded.updates : one.sets.flat()));
  const updateIds = updates.map(({ id }) => id);
  const beside = await openVersionsOf(tx, updateIds);
  const { engine } = platform.database;
  await lockUpdates(tx, { engine, updateIds: [...new Set([...updateIds, ...beside])] });
  await lockHostSums(tx, { engine, agentIds: updates.map(({ agent_id }) => agent_id) });
}

type Written =
  | { readonly id: string; readonly kind: 'awaiting_plan' | 'conflict' | 'verdict_changed' }
  | { readonly id: string; readonly kind: 'minted'; readonly tokenId: string };

function addWritten(answer: BulkApproveAnswer, one: Exclude<Written, { kind: 'verdict_changed' }>): void {
  const update_id = one.id;
  if (one.kind === 'minted') answer.approved.push({ update_id, token_id: one.tokenId });
  else if (one.kind === 'awaiting_plan') answer.awaiting_plan.push(update_id);
  else answer.skipped.push({ update_id, code: one.kind });
}

function addBlock(answer: BulkApproveAnswer, { loaded, facts, verdict }: BulkBlock): void {
  answer.blocked.push({
    update_id: loaded.update.id,
    package: packageOf(loaded),
    blocked_by: verdict.stop.by,
    reason: verdict.stop.reason,
    ...verdictParts(verdict.judged.closure, { excused: verdict.excused, most: BLOCKED_PART_MAX }),
    age: ageReport(verdict.judged.age),
    divergences: divergencesOf(facts),
    unknown_artifacts: unknownArtifactsOf(facts),
    held: holdsOf(facts),
    third_party: thirdPartyOriginsOf(facts, BLOCKED_ORIGINS_MAX),
  });
}
