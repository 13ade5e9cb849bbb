import { Refusal } from './refusal.ts';

const RETRY_SECONDS = 30;

export interface Seats {
  /** Throws a Refusal when none is left; the function it returns releases the seat. */
  take(operatorId: string): () => void;
}

/** Counts answers that stay open, in total and for each operator. */
export function createSeats({ total, each, what }: { total: number; each: number; what: string }): Seats {
  const taken = new Map<string, number>();
  let all = 0;
  return {
    take(operatorId) {
      const own = taken.get(operatorId) ?? 0;
      if (own >= each || all >= total) {
        throw new Refusal('unavailable', {
          detail: own >= each ? `One operator may have ${each} ${what} open.` : `Too many ${what} are open.`,
          retryAfterSeconds: RETRY_SECONDS,
        });
      }
      all++;
      taken.set(operatorId, own + 1);
      let isTaken = true;
      return () => {
        if (!isTaken) return;
        isTaken = false;
        all--;
        const left = (taken.get(operatorId) ?? 1) - 1;
        if (left > 0) taken.set(operatorId, left);
        else taken.delete(operatorId);
      };
    },
  };
}
