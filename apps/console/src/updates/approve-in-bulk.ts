import type { BulkApproveAnswer } from '@tidegate/protocol/approvals-api';
import type { BulkProgress } from '@tidegate/protocol/bulk-api';
import { ApiError, get, post } from '../api/client.ts';
import { bulkBody, type Chosen, isAnswerLost, isUnheard, UNHEARD } from './bulk-rules.ts';

/** How often the server is asked what came of it, in milliseconds, and how often at most: it forgets after an hour. */
const LOOK_EVERY_MS = 2_000;
const LOOKS_MAX = 1_800;

/** What came of a bulk request; `isWhole` is false where it ended early, and the rest is as it was. */
export interface BulkOutcome {
  readonly answer: BulkApproveAnswer;
  readonly isWhole: boolean;
}

export interface BulkRequest {
  readonly chosen: Chosen;
  readonly progressId: string;
  /** The same id was sent before, and the server did not know it then. */
  readonly isResent: boolean;
}

/**
 * Sends the request once. Where its answer is lost nothing is guessed: the server goes on without us and keeps what
 * came of it under `progressId`, which also keeps it from doing the same twice.
 */
export async function approveInBulk(
  { chosen, progressId, isResent }: BulkRequest,
  onLost: () => void,
): Promise<BulkOutcome> {
  try {
    const answer = await post<BulkApproveAnswer>('/api/v1/updates/approve', bulkBody(chosen, progressId));
    return { answer, isWhole: true };
  } catch (error) {
    const hasBegunBefore = isResent && error instanceof ApiError && error.code === 'conflict';
    if (!isAnswerLost(error) && !hasBegunBefore) throw error;
    onLost();
    const outcome = await waitForOutcome(progressId);
    if (outcome) return outcome;
    throw hasBegunBefore ? error : UNHEARD;
  }
}

/** Null where the server does not know the request: it did not begin. */
async function waitForOutcome(progressId: string): Promise<BulkOutcome | null> {
  const path = `/api/v1/bulk/${progressId}`;
  for (let look = 0; look < LOOKS_MAX; look++) {
    try {
      const { state } = await get<BulkProgress>(path);
      if (state !== 'running') {
        return { answer: await get<BulkApproveAnswer>(`${path}/result`), isWhole: state === 'done' };
      }
    } catch (error) {
      if (isUnheard(error)) return null;
      if (!isAnswerLost(error)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  throw new ApiError({ status: 0, code: 'unreachable', message: 'The server did not say what came of it.' });
}
