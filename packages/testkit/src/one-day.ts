import { setTimeout as pause } from 'node:timers/promises';

const DAY_MS = 86_400_000;
/** More than a test takes that names today. */
const TEST_MAX_MS = 90_000;

/** For tests that name today by the clock of the machine: shortly before midnight (UTC) it waits for the next day. */
export async function withinOneDay(): Promise<void> {
  const leftMs = DAY_MS - (Date.now() % DAY_MS);
  if (leftMs < TEST_MAX_MS) await pause(leftMs);
}
