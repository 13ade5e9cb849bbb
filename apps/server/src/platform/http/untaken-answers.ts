import type { IncomingMessage, ServerResponse } from 'node:http';

/** A client that takes nothing of its answer for so long makes room for a request that waits, in milliseconds. */
const UNTAKEN_MS = 2_000;

/** Answers that a worker passes on. Each holds its connection to the server until the client has taken nearly all of it. */
export interface UntakenAnswers {
  add(answer: IncomingMessage, response: ServerResponse): void;
  /** Ends at most so many of those of which their clients take nothing, the longest first. */
  end(most: number): void;
}

export function createUntakenAnswers(nowMs: () => number): UntakenAnswers {
  /** With the time of the last piece; those without one for longest come first. */
  const passedMs = new Map<ServerResponse, number>();
  return {
    add(answer, response) {
      const pass = () => {
        passedMs.delete(response);
        passedMs.set(response, nowMs());
      };
      pass();
      answer.on('data', pass);
      answer.once('close', () => passedMs.delete(response));
    },
    end(most) {
      let left = most;
      for (const [response, ms] of passedMs) {
        if (left === 0 || nowMs() - ms < UNTAKEN_MS) return;
        // Others wait for the server, as streams do.
        if (!response.writableNeedDrain) continue;
        response.destroy();
        left--;
      }
    },
  };
}
