/**
 * How fast passwords are guessed (OWASP Authentication Cheat Sheet; NIST SP 800-63B-4, section 3.2.2). Nothing is locked:
 * who guesses wrongly waits longer each time, and names that many guess at are given turns.
 */

/** Wrong passwords in a row that cost a guesser nothing. */
export const FREE_FAILURES = 5;
const FIRST_WAIT_MS = 5_000;
const WAIT_MAX_MS = 900_000;
/** Wrong passwords are forgotten this long after the last one. */
const FORGOTTEN_AFTER_MS = 3_600_000;

/** Guesses at one name from unknown devices, from wherever: so many at once, */
export const NAME_BURST = 20;
/** and one more each time that this has passed: at most 92 in any hour. */
export const NAME_STEP_MS = 50_000;

/** How long a guesser waits for its turn once a name has no guess left; who comes back earlier waits anew. */
export const TURN_WAIT_MS = 60_000;
/** How long a turn can be taken once it has come. */
const TURN_LIFE_MS = 600_000;

/** Who guesses at one name: an address, a known device, or a session. */
export interface Guesser {
  /** Wrong passwords since the last right one; one that is being looked at counts as wrong. */
  failures: number;
  lastFailedAtMs: number;
  /** When its turn comes; null while it waits for none. */
  turnAtMs: number | null;
}

/** What is left of the guesses at one name. */
export interface NameBudget {
  guesses: number;
  countedAtMs: number;
  /** Guesses have run out, and are given to those who waited until all are back. */
  isByTurns: boolean;
}

export type Admission =
  | { ok: true; guesser: Guesser; budget: NameBudget | null }
  | {
      ok: false;
      waitMs: number;
      guesser: Guesser;
      budget: NameBudget | null;
      /** With this request the name began to be given by turns. */
      beganTurns: boolean;
    };

export function newGuesser(): Guesser {
  return { failures: 0, lastFailedAtMs: 0, turnAtMs: null };
}

export function newBudget(nowMs: number): NameBudget {
  return { guesses: NAME_BURST, countedAtMs: nowMs, isByTurns: false };
}

/** Whether one more password is looked at. Known devices and sessions come without a budget: nobody else uses it up. */
export function admit(
  { guesser, budget }: { guesser: Guesser; budget: NameBudget | null },
  nowMs: number,
): Admission {
  const known = forget(guesser, nowMs);
  const left = budget && refill(budget, nowMs);
  const dueAtMs = known.lastFailedAtMs + waitAfter(known.failures);
  const refused = { ok: false, guesser: known, budget: left, beganTurns: false } as const;
  if (nowMs < dueAtMs) return { ...refused, waitMs: dueAtMs - nowMs };
  const counted = { failures: known.failures + 1, lastFailedAtMs: nowMs, turnAtMs: null };
  if (left === null) return { ok: true, guesser: counted, budget: null };
  const hasTurn = !left.isByTurns || isTurnOf(known, nowMs);
  if (hasTurn && left.guesses >= 1) {
    return { ok: true, guesser: counted, budget: { ...left, guesses: left.guesses - 1 } };
  }
  return {
    ...refused,
    waitMs: TURN_WAIT_MS,
    guesser: { ...known, turnAtMs: nowMs + TURN_WAIT_MS },
    budget: { ...left, isByTurns: true },
    beganTurns: !left.isByTurns,
  };
}

/** After a guess that was right, or at which nobody looked: it cost the name nothing. */
export function giveBack(budget: NameBudget): NameBudget {
  return { ...budget, guesses: Math.min(NAME_BURST, budget.guesses + 1) };
}

/** The same of who guessed. */
export function uncount(guesser: Guesser): Guesser {
  return { ...guesser, failures: Math.max(0, guesser.failures - 1) };
}

/** Nothing is lost by forgetting it. */
export function isIdleGuesser(guesser: Guesser, nowMs: number): boolean {
  const { failures, turnAtMs } = forget(guesser, nowMs);
  return failures === 0 && (turnAtMs === null || nowMs > turnAtMs + TURN_LIFE_MS);
}

/** The same of a name. */
export function isIdleBudget(budget: NameBudget, nowMs: number): boolean {
  return refill(budget, nowMs).guesses === NAME_BURST;
}

/** How long a guesser waits after so many wrong passwords in a row, in milliseconds. */
export function waitAfter(failures: number): number {
  if (failures < FREE_FAILURES) return 0;
  return Math.min(FIRST_WAIT_MS * 2 ** Math.min(failures - FREE_FAILURES, 16), WAIT_MAX_MS);
}

function forget(guesser: Guesser, nowMs: number): Guesser {
  return nowMs - guesser.lastFailedAtMs < FORGOTTEN_AFTER_MS ? guesser : { ...guesser, failures: 0 };
}

function refill(budget: NameBudget, nowMs: number): NameBudget {
  const passedMs = Math.max(0, nowMs - budget.countedAtMs);
  const guesses = Math.min(NAME_BURST, budget.guesses + passedMs / NAME_STEP_MS);
  return { guesses, countedAtMs: nowMs, isByTurns: budget.isByTurns && guesses < NAME_BURST };
}

function isTurnOf({ turnAtMs }: Guesser, nowMs: number): boolean {
  return turnAtMs !== null && nowMs >= turnAtMs && nowMs <= turnAtMs + TURN_LIFE_MS;
}
