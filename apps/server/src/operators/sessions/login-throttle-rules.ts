/**
 * Limits password guessing (OWASP Authentication Cheat Sheet; NIST SP 800-63B-4, section 3.2.2). Nothing is locked: a
 * wrong guess doubles the guesser's wait, and guessers at a name with many guesses take turns.
 */

/** Consecutive wrong passwords without a wait. */
export const FREE_FAILURES = 5;
const FIRST_WAIT_MS = 5_000;
const WAIT_MAX_MS = 900_000;
/** Wrong passwords are forgotten this long after the last one. */
const FORGOTTEN_AFTER_MS = 3_600_000;

/** Guesses at one name from unknown devices, whatever their address: this many at once, */
export const NAME_BURST = 20;
/** and one more per this interval: at most 92 in any hour. */
export const NAME_STEP_MS = 50_000;

/** How long a guesser waits for its turn once a name has no guesses left; coming back earlier restarts the wait. */
export const TURN_WAIT_MS = 60_000;
/** How long a turn stays open. */
const TURN_LIFE_MS = 600_000;

/** After this long without a guess a guesser, or a name, is as if it were new. */
export const GUESSER_KEPT_MS = Math.max(FORGOTTEN_AFTER_MS, TURN_WAIT_MS + TURN_LIFE_MS);
export const BUDGET_KEPT_MS = NAME_BURST * NAME_STEP_MS;

/** One guesser at one name: an address, a known device, or a session. */
export interface Guesser {
  /** Consecutive wrong passwords; one being checked counts as wrong. */
  failures: number;
  lastFailedAtMs: number;
  /** When its turn comes; null while it waits for none. */
  turnAtMs: number | null;
}

/** The remaining guesses at one name. */
export interface NameBudget {
  guesses: number;
  countedAtMs: number;
  /** Guesses ran out, and go to those who waited until all are back. */
  isByTurns: boolean;
}

export type Admission =
  | { ok: true; guesser: Guesser; budget: NameBudget | null }
  | {
      ok: false;
      waitMs: number;
      guesser: Guesser;
      budget: NameBudget | null;
      /** With this request the name switched to turns. */
      beganTurns: boolean;
    };

export function newGuesser(): Guesser {
  return { failures: 0, lastFailedAtMs: 0, turnAtMs: null };
}

export function newBudget(nowMs: number): NameBudget {
  return { guesses: NAME_BURST, countedAtMs: nowMs, isByTurns: false };
}

/** Whether one more password is checked. Known devices and sessions have no budget: nobody else can use it up. */
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

/** After a right guess, or one that was not checked: it costs the name nothing. */
export function refundGuess(budget: NameBudget): NameBudget {
  return { ...budget, guesses: Math.min(NAME_BURST, budget.guesses + 1) };
}

/** The same for the guesser. */
export function uncount(guesser: Guesser): Guesser {
  return { ...guesser, failures: Math.max(0, guesser.failures - 1) };
}

/** An idle guesser can be forgotten without loss. */
export function isIdleGuesser(guesser: Guesser, nowMs: number): boolean {
  const { failures, turnAtMs } = forget(guesser, nowMs);
  return failures === 0 && (turnAtMs === null || nowMs > turnAtMs + TURN_LIFE_MS);
}

/** The same for a name. */
export function isIdleBudget(budget: NameBudget, nowMs: number): boolean {
  return refill(budget, nowMs).guesses === NAME_BURST;
}

/** The wait after this many consecutive wrong passwords, in milliseconds. */
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
