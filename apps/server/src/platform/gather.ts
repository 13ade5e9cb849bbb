export interface Gathering<T> {
  /** Most items of one run. */
  most: number;
  /** Most runs at once: one works while another one waits for a connection or a commit. */
  inFlightMax: number;
  /** Settles each of its items by itself; never rejects. */
  run: (items: readonly T[]) => Promise<void>;
}

/** Has simultaneous requests share a statement or a transaction: returns the function that adds one of them to the next run. */
export function gather<T>({ most, inFlightMax, run }: Gathering<T>): (item: T) => void {
  let waiting: T[] = [];
  let inFlight = 0;
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled || inFlight >= inFlightMax || waiting.length === 0) return;
    isScheduled = true;
    // Runs after all readable sockets have been served, so that their requests join this run.
    setImmediate(next);
  }

  function next(): void {
    isScheduled = false;
    const items = waiting;
    waiting = items.length > most ? items.splice(most) : [];
    inFlight++;
    void run(items).finally(() => {
      inFlight--;
      schedule();
    });
    schedule();
  }

  return (item) => {
    waiting.push(item);
    schedule();
  };
}
