import type { Platform } from '../../../platform/platform.ts';
import type { Snapshot } from '../snapshot.ts';

/** Ids named per log line. */
const NAMED = 5;

/** Logs which records keep the packages of an ecosystem from being called clear. */
export function tellIllegible(
  platform: Platform,
  { base, illegible }: Pick<Snapshot, 'base' | 'illegible'>,
): void {
  if (illegible.length === 0) return;
  const named = illegible
    .slice(0, NAMED)
    .map((id) => id.slice(0, 100))
    .join(' ');
  const fields = { ecosystem: base, records: illegible.length, named };
  platform.log.upstreamWarning('supply_chain illegible advisories: no package is called clear', fields);
}
