import { activeAt } from '../blackouts/blackout-rules.ts';
import { countWithheld } from '../blackouts/count-withheld.ts';
import { liveBlackouts } from '../blackouts/store.ts';
import { type Counted, type Fresh, keepFresh } from '../platform/keep-fresh.ts';
import type { Platform } from '../platform/platform.ts';
import { takeTurn } from '../platform/turns.ts';
import { beginningFrom, type DueSlot, expiringFrom } from './due-store.ts';

/** Blackouts whose commands are counted; of more, the first ones by age. */
const WITHHELD_MAX = 50;

/** What waits, at one moment. */
export interface Due extends Counted {
  readonly begins: readonly DueSlot[];
  readonly expires: readonly DueSlot[];
  /** Commands that blackouts withhold, by the id of the blackout. */
  readonly withheld: ReadonlyMap<string, number>;
}

/** Counts for all readers together, as the number of commands grows with the fleet. */
export function createDueCounts(platform: Pick<Platform, 'database' | 'now' | 'log'>): Fresh<Due> {
  return keepFresh(platform, {
    take: () => countDue(platform),
    failure: 'the approvals that wait were not counted',
  });
}

async function countDue({ database, now }: Pick<Platform, 'database' | 'now'>): Promise<Due> {
  const db = database.read;
  const nowMs = now();
  const active = (await liveBlackouts(db, nowMs)).filter(({ times }) => activeAt(times, nowMs) !== null);
  const withheld = new Map<string, number>();
  for (const { id, scope } of active.slice(0, WITHHELD_MAX)) {
    await takeTurn();
    withheld.set(id, (await countWithheld(db, scope)).commands);
  }
  await takeTurn();
  const begins = await beginningFrom(db, nowMs);
  await takeTurn();
  return { asOfMs: nowMs, begins, expires: await expiringFrom(db, nowMs), withheld };
}
