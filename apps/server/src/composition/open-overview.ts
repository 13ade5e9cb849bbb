import { createDueCounts } from '../calendar/count-due.ts';
import { createRunCounter } from '../calendar/count-runs.ts';
import { createHistoryRecorder } from '../overview/keep-history.ts';
import { createSnapshots } from '../overview/keep-snapshots.ts';
import { createChangeWatch } from '../stream/watch-changes.ts';
import { createSumFolder } from '../updates/fold-sums.ts';
import type { Opening } from './parts.ts';

/** What is counted for the console, and the watch that lets it follow changes. */
export function openOverview({ platform, background }: Opening) {
  background.use('sums of updates', createSumFolder(platform));
  const snapshots = background.use('snapshots', createSnapshots(platform));
  background.use('history', createHistoryRecorder({ platform, snapshots }));
  background.use('what ran', createRunCounter(platform));
  const due = background.use('approvals that wait', createDueCounts(platform));
  return { snapshots, due, changeWatch: background.use('change watch', createChangeWatch(platform)) };
}
