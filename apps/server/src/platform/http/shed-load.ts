import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:net';
import type { RandomBytes } from '../ids.ts';
import type { AcceptWait } from './accept-wait.ts';
import { answerUnavailable } from './client-faults.ts';
import { createLinkedQueue, type Linked, type LinkedQueue } from './linked-queue.ts';

/** Requests of one kind, which are refused before any work when there are too many. */
export interface Lane {
  /** For the log, such as `renewals`. */
  name: string;
  /** Pattern of its route, for metrics. */
  route: string;
  /** Most requests that arrived whole and wait for their answer; the next one is refused. */
  inProgressMax: number;
  has(request: Pick<IncomingMessage, 'method' | 'url'>): boolean;
}

export interface LoadShedding {
  /** Notices connections that wait to be accepted. */
  watch(server: Server): void;
  /** Answers 503 if the request is one too many of its lane; otherwise it counts until its answer. */
  refuses(request: IncomingMessage, response: ServerResponse): boolean;
}

export interface SheddingOptions {
  lanes: readonly Lane[];
  elapsedMs: () => number;
  random: RandomBytes;
  acceptWait: AcceptWait;
  /** Told of every refusal. */
  onRefused: (refused: { lane: Lane; tookMs: number }) => void;
}

/**
 * Connections accepted in a row, some in each turn of the event loop, after which the wait in the queues of the kernel is
 * measured: a few clients that open one after the other make a row as well. A queue holds 511; the next ones, those
 * of operators as well, would wait for a second.
 */
export const ACCEPTED_IN_A_ROW_MAX = 256;
/** A lane is slow while so many of its requests have waited longer than this; a few may wait for a lock. */
export const SLOW_MIN = 32;
export const SLOW_MS = 1_000;
/**
 * Requests whose bodies are still to come that one look at a lane passes over, and puts behind the others: tens of thousands
 * of them would cost every request a walk over all.
 */
export const PASSED_OVER_MAX = 64;
/**
 * A gap between two requests counts for at most this much of their wait. Where nobody asks, nothing piles up: after a stop of the
 * server, or of its database under a few clients, what waits is answered within moments, and no sign of too many.
 */
export const GAP_MAX_MS = 100;
/** One of so many is admitted after that, or anyone who opens connections fast enough would shut the agents out. */
const ADMITTED_OF = 4;
/** Retry-After is at least this, in seconds, and at most this longer. */
const RETRY_SECONDS = 5;
const RETRY_SPREAD_MAX_SECONDS = 180;
/** Refused requests of this time are expected back. */
const WINDOW_SECONDS = 60;

interface InProgress extends Linked<InProgress> {
  request: IncomingMessage;
  /** By the clock of its lane. */
  sinceMs: number;
}

/**
 * Refuses requests of lanes above their bounds, before their body is parsed and the database is asked. A refusal costs
 * little of that work, so that what is admitted, and every request outside the lanes, is answered in time.
 */
export function createLoadShedding(options: SheddingOptions): LoadShedding {
  const { elapsedMs, random, acceptWait } = options;
  const lanes = options.lanes.map((lane) => ({
    lane,
    // Oldest first.
    inProgress: createLinkedQueue<InProgress>(),
    clockMs: createGapClock(elapsedMs),
    inRow: 0,
    answers: createAnswerCounts(elapsedMs),
  }));
  const row = { length: 0, hasAccepted: false, isWatched: false };

  /** Runs at the end of each turn while every turn accepts a connection. */
  function endTurn(): void {
    row.isWatched = row.hasAccepted;
    if (row.hasAccepted) setImmediate(endTurn);
    else row.length = 0;
    row.hasAccepted = false;
  }

  return {
    watch(server) {
      acceptWait.watch(server);
      server.on('connection', () => {
        row.length++;
        row.hasAccepted = true;
        if (row.isWatched) return;
        row.isWatched = true;
        setImmediate(endTurn);
      });
    },
    refuses(request, response) {
      const own = lanes.find(({ lane }) => lane.has(request));
      if (own === undefined) return false;
      const { lane, answers } = own;
      const isHerd = row.length > ACCEPTED_IN_A_ROW_MAX && acceptWait.isLong();
      const isInRow = isHerd && own.inRow++ % ADMITTED_OF !== 0;
      const beganMs = elapsedMs();
      const nowMs = own.clockMs();
      if (!isInRow && hasRoom(own.inProgress, { lane, nowMs })) {
        const added: InProgress = { request, sinceMs: nowMs, queue: null, before: null, after: null };
        own.inProgress.add(added);
        response.once('close', () => {
          own.inProgress.remove(added);
          answers.served();
        });
        return false;
      }
      answers.refused();
      const fraction = random(2).readUInt16LE() / 0x1_0000;
      const retryAfterSeconds = RETRY_SECONDS + Math.round(fraction * answers.backlogSeconds());
      const detail = `Too many ${lane.name} at once; retry after the time in Retry-After.`;
      answerUnavailable(request, response, { detail, retryAfterSeconds });
      options.onRefused({ lane, tookMs: elapsedMs() - beganMs });
      return true;
    },
  };
}

/** Milliseconds between the calls, without what is longer than a gap. */
function createGapClock(elapsedMs: () => number): () => number {
  let clockMs = 0;
  let lastMs = elapsedMs();
  return () => {
    const nowMs = elapsedMs();
    clockMs += Math.min(nowMs - lastMs, GAP_MAX_MS);
    lastMs = nowMs;
    return clockMs;
  };
}

/** Only requests that arrived whole count: bodies that are sent slowly keep nobody out. */
function hasRoom(
  inProgress: LinkedQueue<InProgress>,
  { lane, nowMs }: { lane: Lane; nowMs: number },
): boolean {
  if (inProgress.size() < Math.min(SLOW_MIN, lane.inProgressMax)) return true;
  let whole = 0;
  let passedOver = 0;
  for (let one = inProgress.first(), next = one; one !== null; one = next) {
    const { request, sinceMs, after } = one;
    next = after;
    if (!request.complete) {
      if (passedOver === PASSED_OVER_MAX) return true;
      passedOver++;
      inProgress.remove(one);
      inProgress.add(one);
      continue;
    }
    whole++;
    if (whole >= lane.inProgressMax) return false;
    if (whole === SLOW_MIN && nowMs - sinceMs > SLOW_MS) return false;
    // The rest is younger, and too few.
    if (whole === SLOW_MIN && inProgress.size() < lane.inProgressMax) return true;
  }
  return true;
}

/** Counts the answers of the last minute by second. */
function createAnswerCounts(elapsedMs: () => number) {
  const served = new Uint32Array(WINDOW_SECONDS);
  const refused = new Uint32Array(WINDOW_SECONDS);
  let atSecond = 0;
  function slot(): number {
    const second = Math.floor(elapsedMs() / 1_000);
    for (; atSecond < second; atSecond = Math.max(atSecond + 1, second - WINDOW_SECONDS)) {
      const next = (atSecond + 1) % WINDOW_SECONDS;
      served[next] = 0;
      refused[next] = 0;
    }
    return second % WINDOW_SECONDS;
  }
  const count = (counts: Uint32Array) => {
    const at = slot();
    counts[at] = (counts[at] ?? 0) + 1;
  };
  const sum = (counts: Uint32Array) => counts.reduce((total, one) => total + one, 0);
  return {
    served: () => count(served),
    refused: () => count(refused),
    /** How long the refused ones take when they come back, at the rate of the last minute. */
    backlogSeconds(): number {
      slot();
      const busySeconds = served.reduce((seconds, one) => seconds + (one > 0 ? 1 : 0), 0);
      const perSecond = sum(served) / Math.max(1, busySeconds);
      return Math.min(RETRY_SPREAD_MAX_SECONDS, sum(refused) / Math.max(1, perSecond));
    },
  };
}
