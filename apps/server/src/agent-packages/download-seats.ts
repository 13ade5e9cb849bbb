import { Refusal } from '../platform/http/refusal.ts';

/** Most downloads at once: in total, and for one address, behind which may be many hosts. */
export const DOWNLOADS_MAX = 64;
export const DOWNLOADS_PER_ADDRESS = 16;
const RETRY_AFTER_SECONDS = 15;

/** Counts downloads. `take` throws a Refusal when there are too many; what it returns releases the seat. */
export function createDownloadSeats(): { take(address: string): () => void } {
  const taken = new Map<string, number>();
  let total = 0;
  return {
    take(address) {
      const own = taken.get(address) ?? 0;
      if (own >= DOWNLOADS_PER_ADDRESS || total >= DOWNLOADS_MAX) {
        const detail =
          own >= DOWNLOADS_PER_ADDRESS
            ? `One address may have ${DOWNLOADS_PER_ADDRESS} downloads under way.`
            : 'Too many downloads are under way.';
        throw new Refusal('unavailable', { detail, retryAfterSeconds: RETRY_AFTER_SECONDS });
      }
      taken.set(address, own + 1);
      total++;
      let isTaken = true;
      return () => {
        if (!isTaken) return;
        isTaken = false;
        total--;
        const left = (taken.get(address) ?? 1) - 1;
        if (left > 0) taken.set(address, left);
        else taken.delete(address);
      };
    },
  };
}
