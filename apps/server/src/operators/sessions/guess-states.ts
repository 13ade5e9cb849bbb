import { createHmac } from 'node:crypto';
import { nullable } from '@tidegate/protocol/scalars';
import { type TSchema, Type } from 'typebox';
import type { Tx } from '../../platform/db/engine.ts';
import { parseAs } from '../../platform/parse-as.ts';
import type { Platform } from '../../platform/platform.ts';
import { countUpTo, hasCount, lockCount, writeCount } from '../../rate-limits/shared-counts-store.ts';
import { createBoundedTable } from './bounded-table.ts';
import {
  BUDGET_KEPT_MS,
  GUESSER_KEPT_MS,
  type Guesser,
  isIdleBudget,
  isIdleGuesser,
  type NameBudget,
  newBudget,
  newGuesser,
} from './login-throttle-rules.ts';

/** Names, and pairs of a name and its guesser, that are remembered. */
const THROTTLE_KEYS_MAX = 100_000;

/** What is known of one guesser at one name, and of the name; null where it has no budget. */
export interface GuessState {
  readonly guesser: Guesser;
  readonly budget: NameBudget | null;
}

export interface GuessStates {
  /** Stores what `next` makes of the states, in one step. */
  change<T extends GuessState>(
    at: { guesser: string; name: string | null },
    next: (state: GuessState) => T,
  ): Promise<T>;
}

/** A restart forgets them. */
export function statesInMemory({
  now,
  keysMax = THROTTLE_KEYS_MAX,
}: {
  now: Platform['now'];
  keysMax?: number;
}): GuessStates {
  const guessers = createBoundedTable({
    max: keysMax,
    isIdle: (one) => isIdleGuesser(one, now()),
    create: newGuesser,
  });
  const budgets = createBoundedTable({
    max: keysMax,
    isIdle: (one) => isIdleBudget(one, now()),
    create: () => newBudget(now()),
  });
  return {
    async change({ guesser, name }, next) {
      const state = next({
        guesser: guessers.get(guesser),
        budget: name === null ? null : budgets.get(name),
      });
      guessers.set(guesser, state.guesser);
      if (name !== null && state.budget) budgets.set(name, state.budget);
      return state;
    },
  };
}

const StoredGuesser = Type.Object({
  failures: Type.Integer({ minimum: 0 }),
  lastFailedAtMs: Type.Integer(),
  turnAtMs: nullable(Type.Integer()),
});
const StoredBudget = Type.Object({
  guesses: Type.Number(),
  countedAtMs: Type.Integer(),
  isByTurns: Type.Boolean(),
});
/** Shared by the keys without a place. */
const OTHERS = 'others';
const COUNTED_EVERY_MS = 10_000;

/** Where the servers of a database count guesses together; SQLite has one server. */
export function guessStates(
  { database, now }: Pick<Platform, 'database' | 'now'>,
  { key }: { key: Buffer },
): GuessStates {
  return database.engine === 'postgres'
    ? statesInDatabase({ database, now }, { key })
    : statesInMemory({ now });
}

/**
 * Those of all servers on one database, which have the same key. Names are stored as MACs: people type passwords where
 * names belong, and a copy of the database must not tell whether a guess at such a text is right.
 */
export function statesInDatabase(
  { database, now }: Pick<Platform, 'database' | 'now'>,
  { key: secret, keysMax = THROTTLE_KEYS_MAX }: { key: Buffer; keysMax?: number },
): GuessStates {
  const full = { atMs: Number.NEGATIVE_INFINITY, names: new Set<string>() };

  async function countAll(): Promise<void> {
    if (Math.abs(now() - full.atMs) < COUNTED_EVERY_MS) return;
    full.atMs = now();
    for (const name of [GUESSERS, NAMES]) {
      const isFull = (await countUpTo(database.read, { name, most: keysMax })) >= keysMax;
      if (isFull) full.names.add(name);
      else full.names.delete(name);
    }
  }

  async function lock<T extends TSchema>(tx: Tx, { name, of, schema }: Place & { schema: T }) {
    const mac = createHmac('sha256', secret)
      .update(JSON.stringify([name, of]))
      .digest('base64url');
    const key = full.names.has(name) && !(await hasCount(tx, { name, key: mac })) ? OTHERS : mac;
    const stored = await lockCount(tx, { name, key });
    return { place: { name, key }, state: stored === null ? null : parseAs(schema, stored) };
  }

  return {
    async change({ guesser: who, name }, next) {
      await countAll();
      return database.transact(async (tx) => {
        const guesser = await lock(tx, { name: GUESSERS, of: who, schema: StoredGuesser });
        const budget = name === null ? null : await lock(tx, { name: NAMES, of: name, schema: StoredBudget });
        const nowMs = now();
        const state = next({
          guesser: guesser.state ?? newGuesser(),
          budget: budget && (budget.state ?? newBudget(nowMs)),
        });
        await writeCount(tx, {
          ...{ ...guesser.place, state: JSON.stringify(state.guesser) },
          idleAtMs: nowMs + (isIdleGuesser(state.guesser, nowMs) ? 0 : GUESSER_KEPT_MS),
        });
        if (budget && state.budget) {
          await writeCount(tx, {
            ...{ ...budget.place, state: JSON.stringify(state.budget) },
            idleAtMs: nowMs + (isIdleBudget(state.budget, nowMs) ? 0 : BUDGET_KEPT_MS),
          });
        }
        return state;
      });
    },
  };
}

const GUESSERS = 'guessers';
const NAMES = 'guesses at a name';

interface Place {
  readonly name: string;
  readonly of: string;
}
