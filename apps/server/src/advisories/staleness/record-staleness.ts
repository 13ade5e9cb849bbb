import { appendEvent } from '../../events/append-event.ts';
import { rfc3339 } from '../../platform/clock.ts';
import type { Platform } from '../../platform/platform.ts';
import { claimStretch, endStretches } from './stretch-store.ts';

/** An ecosystem whose data has become too old for decisions. */
export interface Stale {
  readonly ecosystem: string;
  readonly asOfMs: number;
}

/**
 * Records `advisories_stale` for each ecosystem whose data is too old, once per period; new data ends the period.
 * Returns the number of events.
 */
export async function recordStaleness(
  platform: Platform,
  { stale, maxAgeMs }: { stale: readonly Stale[]; maxAgeMs: number },
): Promise<number> {
  return platform.database.transact(async (tx) => {
    await endStretches(
      tx,
      stale.map(({ ecosystem }) => ecosystem),
    );
    let told = 0;
    for (const { ecosystem, asOfMs } of stale) {
      // Another replica may have recorded it.
      if (!(await claimStretch(tx, { ecosystem, nowMs: platform.now() }))) continue;
      told += 1;
      const fields = { ecosystem, as_of: rfc3339(asOfMs), max_age_hours: maxAgeMs / 3_600_000 };
      platform.log.upstreamWarning('supply_chain advisories are too old', fields);
      await appendEvent(tx, platform, {
        kind: 'system',
        type: 'advisories_stale',
        severity: 'error',
        component: 'advisories',
        actor: 'server',
        content: fields,
      });
    }
    return told;
  });
}
