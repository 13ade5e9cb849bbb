import type { IncomingMessage, ServerResponse } from 'node:http';
import { createLinkedQueue, type Linked } from './linked-queue.ts';

/** A client that takes nothing of its answer for so long makes room for a request that waits, in milliseconds. */
const UNTAKEN_MS = 2_000;

/** Answers that a worker passes on. Each holds its connection to the server until the client has taken nearly all of it. */
export interface UntakenAnswers {
  add(answer: IncomingMessage, response: ServerResponse): void;
  /** Ends at most so many of those of which their clients take nothing, the longest first. */
  end(most: number): void;
}

interface Passed extends Linked<Passed> {
  response: ServerResponse;
  /** When its last piece was passed on. */
  passedMs: number;
}

export function createUntakenAnswers(nowMs: () => number): UntakenAnswers {
  /** Those without a piece for longest come first. */
  const answers = createLinkedQueue<Passed>();
  return {
    add(answer, response) {
      const own: Passed = { response, passedMs: nowMs(), queue: null, before: null, after: null };
      answers.add(own);
      answer.on('data', () => {
        own.passedMs = nowMs();
        answers.remove(own);
        answers.add(own);
      });
      answer.once('close', () => answers.remove(own));
    },
    end(most) {
      let left = most;
      for (let one = answers.first(), next = one; one !== null; one = next) {
        const { response, passedMs, after } = one;
        next = after;
        if (left === 0 || nowMs() - passedMs < UNTAKEN_MS) return;
        // Others wait for the server, as streams do.
        if (!response.writableNeedDrain) continue;
        response.destroy();
        left--;
      }
    },
  };
}
