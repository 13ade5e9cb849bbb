import type { BulkApproveAnswer } from '@tidegate/protocol/approvals-api';
import type { BulkProgress } from '@tidegate/protocol/bulk-api';
import { ApiError, get, post } from '../api/client.ts';
import { bulkBody, type Chosen, isAnswerLost, isUnheard, UNHEARD } from './bulk-rules.ts';

/** How often to ask for a lost result, in milliseconds, and how many times: the server forgets it after an hour. */
const LOOK_EVERY_MS = 2_000;
const LOOKS_MAX = 1_800;

/** The result of a bulk request; `isWhole` is false if it ended early and the rest is unchanged. */
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
 * Sends the request once. If the response is lost, nothing is guessed: the server continues and keeps the result under
 * `progressId`, which also prevents it from running the request twice.
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

/** Null if the server does not know the request: it did not begin. */
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
  throw new ApiError({
    status: 0,
    code: 'unreachable',
    message: 'The server did not report a result. Look at the list of updates.',
  });
}
