import { Type } from 'typebox';
import type { Database } from '../platform/db/engine.ts';
import { parseAs } from '../platform/parse-as.ts';
import { SHARED_CLASSES } from './budgets.ts';
import { createLimiter, judgeWindow, type Limiter, type LimiterOptions } from './limiter.ts';
import { lockCount, writeCount } from './shared-counts-store.ts';
import { emptyWindow, type Window } from './sliding-window.ts';

/** Times that its budget a key may ask the database on one server: a flood is refused in front of it. */
const QUESTIONS_PER_BUDGET = 2;

const Runs = Type.Array(Type.Integer({ minimum: 0 }));

/** The same limiter; what its shared classes take is counted in the database, for all servers together. */
export function shareCounts(
  limiter: Limiter,
  { database, ...options }: LimiterOptions & { database: Database },
): Limiter {
  const { budgets, now, random } = options;
  const questions = createLimiter({
    ...options,
    budgets: {
      of: (limitClass) => {
        const budget = budgets.of(limitClass);
        return { ...budget, requests: budget.requests * QUESTIONS_PER_BUDGET };
      },
    },
  });
  return {
    ...limiter,
    async takeForAll(limitClass, key) {
      const budget = budgets.of(limitClass);
      if (!SHARED_CLASSES.has(limitClass) || !budget.enabled) return limiter.take(limitClass, key);
      const asked = questions.take(limitClass, key);
      if (!asked.ok) return asked;
      const name = `requests of ${limitClass}`;
      return database.transact(async (tx) => {
        const stored = await lockCount(tx, { name, key });
        const nowMs = now();
        const window = windowOf(stored, nowMs);
        const { active, endsAtMs } = limiter.penalty();
        const penaltyMs = active ? endsAtMs - nowMs : 0;
        const taken = judgeWindow(window, { budget, nowMs, penaltyMs, random, counts: true });
        const runs = window.runs.slice(window.head);
        const idleAtMs = nowMs + budget.windowSeconds * 1_000;
        if (taken.ok) await writeCount(tx, { name, key, state: JSON.stringify(runs), idleAtMs });
        return taken;
      });
    },
  };
}

/** A request that a server with a faster clock counted is one of now. */
function windowOf(stored: string | null, nowMs: number): Window {
  const window = emptyWindow();
  const runs = (stored !== null && parseAs(Runs, stored)) || [];
  for (const [index, value] of runs.entries()) {
    const isTime = index % 2 === 0;
    window.runs.push(isTime ? Math.min(value, nowMs) : value);
    if (!isTime) window.live += value;
  }
  return window;
}
