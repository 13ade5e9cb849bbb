import type { Platform } from '../../../platform/platform.ts';
import type { Snapshot } from '../snapshot.ts';

/** Ids named per log line. */
const NAMED = 5;

/** Logs which records keep the packages of an ecosystem from being called clear. */
export function logUnreadableRecords(
  platform: Platform,
  { base, unreadable }: Pick<Snapshot, 'base' | 'unreadable'>,
): void {
  if (unreadable.length === 0) return;
  const named = unreadable
    .slice(0, NAMED)
    .map((id) => id.slice(0, 100))
    .join(' ');
  const fields = { ecosystem: base, records: unreadable.length, named };
  platform.log.upstreamWarning('supply_chain illegible advisories: no package is called clear', fields);
}
