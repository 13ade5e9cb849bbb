/** Who waits for the outcomes of which keys. */
export interface KeyWaits<Outcome> {
  /** Waits for the outcomes of the keys, at most `timeoutMs`. */
  wait(keys: readonly string[], timeoutMs: number): KeyWait<Outcome>;
  /** Gives the outcome to everyone who waits for the key. */
  settle(key: string, outcome: Outcome): void;
  /** Ends every wait. */
  settleAll(outcome: Outcome): void;
}

export interface KeyWait<Outcome> {
  /** Gives the outcome of a key to this wait alone. */
  end(key: string, outcome: Outcome): void;
  /** Resolves when every key has an outcome or the time is over, with the outcomes so far. */
  readonly outcomes: Promise<ReadonlyMap<string, Outcome>>;
}

export function createKeyWaits<Outcome>(): KeyWaits<Outcome> {
  const waiting = new Map<string, Set<KeyWait<Outcome>['end']>>();

  function settle(key: string, outcome: Outcome): void {
    for (const end of [...(waiting.get(key) ?? [])]) end(key, outcome);
  }

  return {
    settle,
    settleAll(outcome) {
      for (const key of [...waiting.keys()]) settle(key, outcome);
    },
    wait(keys, timeoutMs) {
      const open = new Set(keys);
      const outcomes = new Map<string, Outcome>();
      const { promise, resolve } = Promise.withResolvers<ReadonlyMap<string, Outcome>>();
      const timer = setTimeout(finish, timeoutMs);
      function finish(): void {
        clearTimeout(timer);
        for (const key of open) remove(waiting, key, end);
        resolve(outcomes);
      }
      function end(key: string, outcome: Outcome): void {
        if (!open.delete(key)) return;
        remove(waiting, key, end);
        outcomes.set(key, outcome);
        if (open.size === 0) finish();
      }
      for (const key of open) add(waiting, key, end);
      if (open.size === 0) finish();
      return { end, outcomes: promise };
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
