import { file, flag, text } from '@tidegate/command-line/declare';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { openCheckpointFile } from '../events/checkpoint-file.ts';
import { exportEvents } from '../events/export-events.ts';
import { makeCheckpoint } from '../events/make-checkpoint.ts';
import { readFleet } from '../signing-keys/store.ts';
import { archiveAndRemove } from './archive-events.ts';
import { type CliWorld, declareCommand } from './command.ts';
import { keysOfInstallation } from './doctor-keys.ts';
import { CommandFault, type Installation, withInstallation } from './open-installation.ts';
import { writeNew } from './write-new.ts';

const OPTIONS = {
  from: text('POSITION', 'first position; the whole log unless given, with its end signed first'),
  to: text('POSITION', 'last position'),
  out: file('a new file instead of the standard output'),
  before: text('DAY', 'remove: events before it, at least 30 days ago, such as 2026-01-01'),
  archive: file('remove: a new file for the removed events, which is verified first'),
  unread: flag('remove: also what exporters or rules of notices have not read yet'),
  json: flag('with --out: describe the export as JSON'),
};

export const eventsCommand = declareCommand({
  name: 'events',
  summary: 'export the log of events so that others can verify it; remove old ones into an archive',
  calls: [
    { act: 'export', takes: ['from', 'to', 'out', 'json'] },
    { act: 'remove', needs: ['before', 'archive'], takes: ['unread'] },
  ],
  options: OPTIONS,
  about: `export writes the log of events as lines of JSON: a header, the signed checkpoints, every event exactly as it was hashed, and an
end. With the file and the public keys (GET /api/v1/public-keys) anyone can verify it anywhere:
tidegate doctor --verify-events --file FILE --keys KEYS

remove writes the oldest events, up to the last signed checkpoint before a day, into an archive, verifies it, signs an anchor that
states what is removed, and removes it. The log then begins after the anchor; with the archive it is whole:
tidegate doctor --verify-events --archive FILE

It works on the data directory (SERVICE_DATA_DIR, SERVICE_DATABASE_URL), with or without a running server.`,
  async run(args, world) {
    const { values, positionals } = readArgs(args, OPTIONS);
    const [act, ...more] = positionals;
    if ((act !== 'export' && act !== 'remove') || more.length > 0)
      throw new UsageError('events needs one of: export, remove');
    const { before, archive, unread: isUnreadToo = false, ...exporting } = values;
    if (act === 'remove') {
      if (before === undefined || archive === undefined || Object.keys(exporting).length > 0)
        throw new UsageError('events remove needs --before and --archive, and takes --unread');
      const beforeMs = dayOf(before);
      return withInstallation(world, (opened) =>
        archiveAndRemove(opened, world, { beforeMs, archive, isUnreadToo }),
      );
    }
    if ((before ?? archive) !== undefined || isUnreadToo)
      throw new UsageError('--before, --archive and --unread: each goes with remove');
    if (values.json && values.out === undefined) throw new UsageError('--json goes with --out');
    const asked: Asked = {
      range: { from: positionOf('--from', values.from), to: positionOf('--to', values.to) },
      file: values.out ?? null,
      json: values.json ?? false,
    };
    return withInstallation(world, (installation) => runExport(installation, world, asked));
  },
});

interface Asked {
  range: { from: number | null; to: number | null };
  file: string | null;
  json: boolean;
}

async function runExport(installation: Installation, world: CliWorld, asked: Asked): Promise<ExitCode> {
  const { platform } = installation;
  if (asked.range.to === null) await signEnd(installation, world);
  const fleet = await readFleet(platform.database.read);
  if (!fleet) throw new CommandFault('no server has been started on this data yet');
  const parts = exportEvents(platform.database.read, {
    range: asked.range,
    fleetId: fleet.fleet_id,
    nowMs: platform.now(),
  });
  if (asked.file === null) {
    for await (const lines of parts) world.out(lines.join('\n'));
    return EXIT.ok;
  }
  const lines = await writeNew(asked.file, parts);
  world.out(
    asked.json
      ? JSON.stringify({ file: asked.file, lines })
      : `Events exported: ${asked.file} (${lines} lines)`,
  );
  return EXIT.ok;
}

/** Signs a checkpoint at the end, so that the export proves its very last row. */
async function signEnd(installation: Installation, world: CliWorld): Promise<void> {
  const { config, platform } = installation;
  const { signer } = await keysOfInstallation(installation);
  if (signer === null) {
    world.err('The key in use is missing: rows after the last checkpoint are exported unsigned.');
    return;
  }
  const file = openCheckpointFile(config.dataDir);
  const made = await makeCheckpoint({ platform, signer, file }, 'always');
  if (made.kind !== 'truncated') return;
  throw new CommandFault(
    `the log ends at ${made.head}, before its checkpoint at ${made.checkpoint}: run \`tidegate doctor --verify-events\``,
  );
}

function dayOf(given: string): number {
  const ms = /^\d{4}-\d\d-\d\d$/.test(given) ? Date.parse(`${given}T00:00:00Z`) : Number.NaN;
  if (Number.isFinite(ms)) return ms;
  throw new UsageError('--before needs a day such as 2026-01-01');
}

function positionOf(option: string, given: string | undefined): number | null {
  if (given === undefined) return null;
  if (/^[1-9][0-9]{0,14}$/.test(given)) return Number(given);
  throw new UsageError(`${option} needs a position: a whole number from 1`);
}
