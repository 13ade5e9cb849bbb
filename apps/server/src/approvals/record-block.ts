import { partCounts } from '../advisories/closure-parts.ts';
import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import { MARKERS } from '../platform/log.ts';
import { lockUpdates } from '../updates/lock-updates.ts';
import { EVENT_UPDATES_MAX } from '../updates/update-set.ts';
import type { Asker } from './asker.ts';
import type { ApprovalDeps } from './deps.ts';
import type { ApprovalRequest, UpdateFacts } from './gate-facts.ts';
import { originChangesOf, packageOf, stopText } from './gate-report.ts';
import { type LoadedUpdate, updateIdsOf } from './load-update.ts';
import { type DecisionMark, recordDecision } from './record-decision.ts';
import type { BlockedVerdict } from './verdict.ts';
import { EVENT_PART_MAX, eventParts } from './verdict-parts.ts';

/** Records written per transaction: ten thousand would hold the database lock for too long. */
const RECORDS_TOGETHER = 100;

export interface Block {
  readonly loaded: LoadedUpdate;
  readonly verdict: BlockedVerdict;
}

/** The event of a gate stop. */
export async function recordBlock(
  tx: Tx,
  { platform }: ApprovalDeps,
  {
    loaded,
    facts,
    verdict,
    actor,
    decision,
  }: Block & {
    facts: UpdateFacts;
    actor: string;
    decision: DecisionMark;
  },
): Promise<void> {
  const { stop } = verdict;
  const { closure } = verdict.judged;
  const changes = originChangesOf(facts, EVENT_PART_MAX);
  await appendEvent(tx, platform, {
    kind: 'system',
    type: 'approval_blocked',
    severity: 'warning',
    component: 'security',
    agentId: loaded.update.agent_id,
    actor,
    content: {
      update_id: loaded.update.id,
      package: packageOf(loaded),
      blocked_by: stop.by,
      reason: stop.reason,
      verdict: closure.verdict,
      ...eventParts(closure),
      ...(changes.length > 0 && { origin_changes: changes }),
      actor,
      decision,
    },
  });
}

/** The log line of a gate stop, written after its event is committed. */
export function logBlock(
  { platform }: ApprovalDeps,
  { loaded, verdict, actor }: Block & { actor: string },
): void {
  platform.log.security(MARKERS.approvalBlocked, {
    update_id: loaded.update.id,
    package: loaded.update.name,
    version: loaded.update.available_version,
    cause: stopText(verdict.stop),
    actor,
  });
}

/** A stop in a bulk request, with everything for its record. */
export interface BulkBlock extends Block {
  readonly facts: UpdateFacts;
  readonly request: ApprovalRequest;
}

/** A6: the event, the records and the log line of a bulk request's blocked updates. */
export async function recordBulkBlock(
  deps: ApprovalDeps,
  { blocks: all, asker: { actor, via } }: { blocks: readonly BulkBlock[]; asker: Asker },
): Promise<void> {
  // What the terms of a policy leave out is no stop of the gate.
  const blocks = all.filter(({ verdict }) => verdict.stop.by !== 'policy');
  if (blocks.length === 0) return;
  const { platform } = deps;
  try {
    for (let i = 0; i < blocks.length; i += RECORDS_TOGETHER) {
      await platform.database.transact(async (tx) => {
        const some = blocks.slice(i, i + RECORDS_TOGETHER);
        // Records mark the updates of many hosts, and others may mark the same ones in another order.
        const updateIds = some.flatMap(({ loaded }) => updateIdsOf(loaded));
        await lockUpdates(tx, { engine: platform.database.engine, updateIds });
        // A policy asks again and again: the records, which are counted, say it.
        if (i === 0 && via === 'bulk') await appendBulkEvent(tx, deps, { blocks, actor });
        for (const block of some) {
          await recordDecision(tx, deps, {
            ...{ ...block, via, bulkId: null, actor, approvedBy: null, tokenId: null },
            ...{ outcome: 'blocked', outcomeReason: stopText(block.verdict.stop) },
          });
        }
      });
    }
  } finally {
    // Logged even if the database is unavailable and takes no event.
    if (via === 'bulk') platform.log.security(MARKERS.bulkApprovalBlocked, { count: blocks.length, actor });
  }
}

async function appendBulkEvent(
  tx: Tx,
  { platform }: ApprovalDeps,
  { blocks, actor }: { blocks: readonly Block[]; actor: string },
): Promise<void> {
  await appendEvent(tx, platform, {
    kind: 'system',
    type: 'bulk_approval_blocked',
    severity: 'warning',
    component: 'security',
    actor,
    content: {
      count: blocks.length,
      blocked: blocks.slice(0, EVENT_UPDATES_MAX).map(({ loaded, verdict }) => ({
        update_id: loaded.update.id,
        package: packageOf(loaded),
        blocked_by: verdict.stop.by,
        reason: verdict.stop.reason,
        counts: partCounts(verdict.judged.closure),
      })),
      actor,
    },
  });
}
