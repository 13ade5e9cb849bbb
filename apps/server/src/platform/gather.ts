export interface Gathering<T> {
  /** Most items of one run. */
  most: number;
  /** Most runs at once: one works while another one waits for a connection or a commit. */
  inFlightMax: number;
  /** Settles each of its items by itself; never rejects. */
  run: (items: readonly T[]) => Promise<void>;
  /** Time for items to come together that come one at a time. Without it only simultaneous ones share a run. */
  rest?: Rest;
}

export interface Rest {
  /** Resolves when the rest that follows the begin of a run is over. The first item after it does not wait. */
  over: () => Promise<void>;
  /** As many waiting items end the rest early. */
  enough: number;
}

/** Has requests share a statement or a transaction: returns the function that adds one of them to the next run. */
export function gather<T>({ most, inFlightMax, run, rest }: Gathering<T>): (item: T) => void {
  let waiting: T[] = [];
  let inFlight = 0;
  let isScheduled = false;
  let isResting = false;

  function schedule(): void {
    if (isScheduled || inFlight >= inFlightMax || waiting.length === 0) return;
    if (rest && isResting && waiting.length < rest.enough) return;
    isScheduled = true;
    // Runs after all readable sockets have been served, so that their requests join this run.
    setImmediate(next);
  }

  function next(): void {
    isScheduled = false;
    const items = waiting;
    waiting = items.length > most ? items.splice(most) : [];
    inFlight++;
    if (rest && !isResting) beginRest(rest);
    void run(items).finally(() => {
      inFlight--;
      schedule();
    });
    schedule();
  }

  function beginRest({ over }: Rest): void {
    isResting = true;
    void over().then(() => {
      isResting = false;
      schedule();
    });
  }

  return (item) => {
    waiting.push(item);
    schedule();
  };
}
