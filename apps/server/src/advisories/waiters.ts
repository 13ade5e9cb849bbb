import type { Outcome } from './worker-rules.ts';

/** Waits for the outcomes of keys. */
export interface Waiters {
  /** The outcome of each key within the time; null for a key without one. */
  wait(keys: readonly string[], timeoutMs: number): Wait;
  settle(keys: Iterable<string>, outcomeOf: (key: string) => Outcome): void;
  /** Ends every wait. */
  settleAll(outcome: Outcome): void;
}

export interface Wait {
  done(key: string, outcome: Outcome): void;
  /** Resolves when every key is settled or the time is over, with the outcomes so far. */
  readonly outcomes: Promise<ReadonlyMap<string, Outcome>>;
}

export function createWaiters(): Waiters {
  const waiting = new Map<string, Set<Wait['done']>>();

  function settle(keys: Iterable<string>, outcomeOf: (key: string) => Outcome): void {
    for (const key of keys) {
      const told = waiting.get(key);
      waiting.delete(key);
      for (const done of told ?? []) done(key, outcomeOf(key));
    }
  }

  return {
    settle,
    settleAll: (outcome) => settle([...waiting.keys()], () => outcome),
    wait(keys, timeoutMs) {
      const open = new Set(keys);
      const said = new Map<string, Outcome>();
      const { promise, resolve } = Promise.withResolvers<ReadonlyMap<string, Outcome>>();
      const timer = setTimeout(() => end(), timeoutMs);
      function end(): void {
        clearTimeout(timer);
        for (const key of open) remove(waiting, key, done);
        resolve(said);
      }
      function done(key: string, outcome: Outcome): void {
        if (!open.delete(key)) return;
        remove(waiting, key, done);
        said.set(key, outcome);
        if (open.size === 0) end();
      }
      for (const key of keys) add(waiting, key, done);
      return { done, outcomes: promise };
    },
  };
}

function add<T>(sets: Map<string, Set<T>>, key: string, value: T): void {
  const set = sets.get(key);
  if (set) set.add(value);
  else sets.set(key, new Set([value]));
}

function remove<T>(sets: Map<string, Set<T>>, key: string, value: T): void {
  const set = sets.get(key);
  set?.delete(value);
  if (set?.size === 0) sets.delete(key);
}
