import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import { MARKERS } from '../platform/log.ts';
import type { ApprovalDeps } from './deps.ts';
import type { ApprovalRequest, UpdateFacts } from './gate-facts.ts';
import { packageOf, stopText } from './gate-report.ts';
import type { LoadedUpdate } from './load-update.ts';
import { type DecisionMark, recordDecision } from './record-decision.ts';
import type { BlockedVerdict } from './verdict.ts';

/** Findings that an event names; the update itself has all of them. */
const EVENT_FINDINGS_MAX = 50;
/** Updates that the event of a bulk request names. */
const EVENT_UPDATES_MAX = 500;

/** Records that are written in one transaction: the lock of the database is not held for ten thousand. */
const RECORDS_TOGETHER = 100;

export interface Block {
  readonly loaded: LoadedUpdate;
  readonly verdict: BlockedVerdict;
}

/** The event of a gate stop. */
export async function recordBlock(
  tx: Tx,
  { platform }: ApprovalDeps,
  { loaded, verdict, actor, decision }: Block & { actor: string; decision: DecisionMark },
): Promise<void> {
  const { stop } = verdict;
  const { closure } = verdict.judged;
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
      findings: closure.findings.slice(0, EVENT_FINDINGS_MAX).map(({ id }) => id),
      actor,
      decision,
    },
  });
}

/** The log line of a gate stop, written once its event is committed. */
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

/** A stop of a bulk request, with all that its record needs. */
export interface BulkBlock extends Block {
  readonly facts: UpdateFacts;
  readonly request: ApprovalRequest;
}

/** A6: the event, the records and the log line of what a bulk request did not get. */
export async function recordBulkBlock(
  deps: ApprovalDeps,
  { blocks, actor }: { blocks: readonly BulkBlock[]; actor: string },
): Promise<void> {
  if (blocks.length === 0) return;
  const { platform } = deps;
  try {
    for (let i = 0; i < blocks.length; i += RECORDS_TOGETHER) {
      await platform.database.transact(async (tx) => {
        if (i === 0) await appendBulkEvent(tx, deps, { blocks, actor });
        for (const block of blocks.slice(i, i + RECORDS_TOGETHER)) {
          await recordDecision(tx, deps, {
            ...{ ...block, via: 'bulk', actor, approvedBy: null, tokenId: null },
            ...{ outcome: 'blocked', outcomeReason: stopText(block.verdict.stop) },
          });
        }
      });
    }
  } finally {
    // The line stays where a database that is away takes no event.
    platform.log.security(MARKERS.bulkApprovalBlocked, { count: blocks.length, actor });
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
      })),
      actor,
    },
  });
}
