import { BulkApproveAnswer } from '@tidegate/protocol/approvals-api';
import type { BulkProgress } from '@tidegate/protocol/bulk-api';
import { rfc3339 } from '../platform/clock.ts';
import { parseAs } from '../platform/parse-as.ts';
import type { Platform } from '../platform/platform.ts';
import {
  type BulkCounts,
  type BulkRunKey,
  type BulkRunRow,
  dropRuns,
  findRun,
  insertRun,
  setRun,
} from './bulk-runs-store.ts';

/** How long the answer of a bulk request can be fetched, in milliseconds. */
export const RUN_KEPT_MS = 3_600_000;
/** Runs stored per operator, newest first. */
export const RUNS_KEPT = 20;
/** A run without an update for this long has died with its server: a live one never takes longer. */
export const RUN_SILENT_MS = 120_000;
/** Longest answer stored in full; a longer one loses the vulnerabilities of blocked updates. */
const ANSWER_MAX_CHARS = 8 * 1024 * 1024;

/** Reports the progress of a bulk request, readable on any replica. */
export interface Progress {
  /** Called before the first update. False when the operator has used the id within the hour. */
  start(total: number): Promise<boolean>;
  step(answer: BulkApproveAnswer): Promise<void>;
  end(answer: BulkApproveAnswer, state: 'done' | 'failed'): Promise<void>;
}

/** For a request without a progress id. */
export const NO_PROGRESS: Progress = { start: async () => true, step: async () => {}, end: async () => {} };

export function createProgress(platform: Pick<Platform, 'database' | 'now'>, key: BulkRunKey): Progress {
  const { database, now } = platform;
  return {
    start: (total) =>
      database.transact(async (tx) => {
        const nowMs = now();
        const { operator_id: operatorId } = key;
        await dropRuns(tx, { operatorId, beforeMs: nowMs - RUN_KEPT_MS, keep: RUNS_KEPT - 1 });
        const counts = { done: 0, total, approved: 0, blocked: 0, waiting: 0, skipped: 0 };
        const times = { started_at: nowMs, updated_at: nowMs };
        return insertRun(tx, { ...key, state: 'running', ...counts, ...times, answer: null });
      }),
    step: (answer) => database.transact((tx) => setRun(tx, key, { ...countsOf(answer), updated_at: now() })),
    end: (answer, state) =>
      database.transact((tx) =>
        setRun(tx, key, { ...countsOf(answer), state, answer: textOf(answer), updated_at: now() }),
      ),
  };
}

function countsOf(answer: BulkApproveAnswer): BulkCounts {
  const approved = answer.approved.length;
  const blocked = answer.blocked.length;
  const waiting = answer.awaiting_plan.length;
  const skipped = answer.skipped.length;
  return { done: approved + blocked + waiting + skipped, approved, blocked, waiting, skipped };
}

function textOf(answer: BulkApproveAnswer): string {
  const text = JSON.stringify(answer);
  if (text.length <= ANSWER_MAX_CHARS) return text;
  const blocked = answer.blocked.map((one) => ({
    ...one,
    ...{ introduces: [], stays: [], fixes: [], fixes_complete: false },
  }));
  return JSON.stringify({ ...answer, blocked });
}

/** Null when the operator has no such run, or it was deleted. */
export async function readRun(
  { database, now }: Pick<Platform, 'database' | 'now'>,
  key: BulkRunKey,
): Promise<BulkRunRow | null> {
  const row = await findRun(database.read, key);
  return row && row.updated_at >= now() - RUN_KEPT_MS ? row : null;
}

/** A run whose server died never ends by itself: it counts as failed after a long silence. */
export function progressOf(row: BulkRunRow, nowMs: number): BulkProgress {
  const hasDied = row.state === 'running' && nowMs - row.updated_at > RUN_SILENT_MS;
  return {
    progress_id: row.progress_id,
    state: hasDied ? 'failed' : row.state,
    done: row.done,
    total: row.total,
    approved: row.approved,
    blocked: row.blocked,
    waiting: row.waiting,
    skipped: row.skipped,
    started_at: rfc3339(row.started_at),
    updated_at: rfc3339(row.updated_at),
  };
}

/** The answer of a finished run; null while it is running, and forever if its server died. */
export function answerOf(row: BulkRunRow): BulkApproveAnswer | null {
  if (row.answer === null) return null;
  const answer = parseAs(BulkApproveAnswer, row.answer);
  if (!answer) throw new Error(`the answer of the bulk request ${row.progress_id} is not valid`);
  return answer;
}
