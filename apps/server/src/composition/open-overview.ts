import { createHistoryKeeper } from '../overview/keep-history.ts';
import { createSnapshots } from '../overview/keep-snapshots.ts';
import { createChangeWatch } from '../stream/watch-changes.ts';
import { createSumKeeper } from '../updates/fold-sums.ts';
import type { Opening } from './parts.ts';

/** What is counted for the console, and the watch that lets it follow changes. */
export function openOverview({ platform, background }: Opening) {
  background.use('sums of updates', createSumKeeper(platform));
  const snapshots = background.use('snapshots', createSnapshots(platform));
  background.use('history', createHistoryKeeper({ platform, snapshots }));
  return { snapshots, changeWatch: background.use('change watch', createChangeWatch(platform)) };
}
