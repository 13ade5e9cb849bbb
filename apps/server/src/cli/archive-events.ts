import { EXIT, type ExitCode } from '@tidegate/terminal/read-args';
import { exportEvents } from '../events/export-events.ts';
import { followersBefore } from '../events/followers-store.ts';
import { removeEvents } from '../events/prune-events.ts';
import { DAY_MS, KEPT_DAYS_MIN } from '../events/prune-rules.ts';
import { checkpointBefore, newestAnchor } from '../events/store.ts';
import type { CliWorld } from './command.ts';
import { verifyArchive } from './doctor-events.ts';
import { keysOfInstallation } from './doctor-keys.ts';
import { CommandFault, type Installation } from './open-installation.ts';
import { writeNew } from './write-new.ts';

const ACTOR = 'cli';

export interface Removing {
  beforeMs: number;
  archive: string;
  /** Whether events may go that an exporter or a rule has not read. */
  isUnreadToo: boolean;
}

/** Writes old events into an archive, verifies it, and removes them behind a signed anchor. */
export async function archiveAndRemove(
  installation: Installation,
  world: CliWorld,
  { beforeMs, archive, isUnreadToo }: Removing,
): Promise<ExitCode> {
  const { platform } = installation;
  const { read } = platform.database;
  const nowMs = platform.now();
  if (beforeMs > nowMs - KEPT_DAYS_MIN * DAY_MS)
    throw new CommandFault(`events of the last ${KEPT_DAYS_MIN} days stay: --before needs an earlier day`);
  const { signer, trusted } = await keysOfInstallation(installation);
  if (signer === null) throw new CommandFault('the key in use is missing: it signs what is removed');
  const after = (await newestAnchor(read))?.position ?? 0;
  const checkpoint = await checkpointBefore(read, beforeMs);
  if (checkpoint === null || checkpoint.position <= after) {
    world.out(
      'There is nothing to remove: no checkpoint was signed before that day, after what was removed already.',
    );
    return EXIT.ok;
  }
  const { position } = checkpoint;
  const behind = isUnreadToo ? [] : await followersBefore(read, position);
  if (behind.length > 0) {
    const names = behind.map((each) => `${each.name} (at ${each.position})`).join(', ');
    throw new CommandFault(
      `not all has been read up to position ${position} by: ${names}; wait, or give --unread`,
    );
  }
  const range = { from: after + 1, to: position };
  await writeNew(archive, exportEvents(read, { range, fleetId: signer.fleetId, nowMs }));
  const { pinned } = await verifyArchive(archive, trusted);
  if (pinned?.position !== position || pinned.hash !== checkpoint.hash)
    throw new CommandFault(
      `${archive} does not end with the checkpoint at position ${position}: nothing was removed`,
    );
  const how = { signer, trusted, isStopped: () => false };
  const wanted = { checkpoint, signedBeforeMs: beforeMs, by: ACTOR, retentionDays: null };
  const { refused } = await removeEvents(platform, how, wanted);
  if (refused !== null) throw new CommandFault(`nothing was removed: ${refused}`);
  if ((await newestAnchor(read))?.position !== position)
    throw new CommandFault(
      'somebody else removed events at the same moment: nothing was removed by this command',
    );
  world.out(
    `Events ${after + 1} to ${position} were removed. They are in ${archive}: keep it, the log verifies with it.`,
  );
  return EXIT.ok;
}
