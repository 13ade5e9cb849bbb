import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { RESYNC_MAX_HOURS } from '@tidegate/protocol/resync-api';
import { readConfig } from '../config.ts';
import { MIGRATIONS } from '../migrations.ts';
import { createIdMaker } from '../platform/ids.ts';
import { createLog } from '../platform/log.ts';
import { readSecrets } from '../platform/secrets.ts';
import { readIdentities } from '../restore/backup-crypto.ts';
import { type RestoreOutcome, restoreBackup } from '../restore/restore-backup.ts';
import { sealsOfFolder } from '../restore/seals-of-folder.ts';
import { type CliCommand, type CliWorld, EXIT, type ExitCode, readArgs, UsageError } from './command.ts';

export const restoreCommand: CliCommand = {
  summary: 'put a backup in the place of the database',
  usage: `Usage: tidegate restore FILE [--resync-hours N] [--identity KEYFILE] [--unverified] [--json]

Puts a backup in the place of the database while no server runs. The backup is checked first; the
database before is kept aside. On PostgreSQL SERVICE_DATABASE_URL must name an empty database.
The next start begins a new epoch and revokes again what was revoked since the backup.

  --resync-hours N   take hosts along, for ${RESYNC_MAX_HOURS} hours at most, whose tokens are newer than the
                     backup, each once. Without it their next renewal counts as reuse, which
                     revokes them; they have to be enrolled again
  --identity KEYFILE  a file of age identities, for a backup that is encrypted
  --unverified       restore also what bears no MAC of the token secret that is here: a backup of an
                     older version, or of a server whose secret is lost. Whatever is in the file
                     counts then; rows that give rights count after \`tidegate seals accept\` alone
  --json             say what was restored as JSON`,
  async run(args, world) {
    const { values, positionals } = readArgs(args, {
      'resync-hours': { type: 'string' },
      identity: { type: 'string' },
      unverified: { type: 'boolean' },
      json: { type: 'boolean' },
    });
    const [file, ...more] = positionals;
    if (file === undefined || more.length > 0) throw new UsageError('name one backup file');
    const resyncHours = hoursOf(values['resync-hours']);
    const { identity = null, unverified = false, json = false } = values;
    return restore(world, { file, resyncHours, identity, unverified, json });
  },
};

function hoursOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const hours = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (hours >= 1 && hours <= RESYNC_MAX_HOURS) return hours;
  throw new UsageError(`--resync-hours is ${JSON.stringify(text)}; allowed: 1 to ${RESYNC_MAX_HOURS}`);
}

interface Wanted {
  file: string;
  resyncHours: number | null;
  identity: string | null;
  unverified: boolean;
  json: boolean;
}

async function restore(world: CliWorld, { file, resyncHours, json, ...wanted }: Wanted): Promise<ExitCode> {
  const fail = (fault: string): ExitCode => {
    world.err(`Nothing was restored: ${fault}`);
    return EXIT.failed;
  };
  const read = readConfig(world.env);
  if (!read.ok) return fail(read.fault);
  const { dataDir, databaseUrl } = read.config;
  const { now, random } = world;
  const identities = wanted.identity === null ? [] : identitiesOf(wanted.identity);
  if (identities === null) return fail(`${wanted.identity} is no file of age identities that can be read`);
  const secrets = readSecrets({ configured: read.config.jwtSecret, dataDir });
  const log = createLog({ level: 'warn', format: 'text', now, write: world.err });
  let outcome: RestoreOutcome;
  try {
    outcome = await restoreBackup({
      file: resolve(file),
      dataDir,
      databaseUrl,
      resyncHours,
      migrations: MIGRATIONS,
      world: { now, newId: createIdMaker(now, random) },
      keys: { key: secrets?.backups ?? null, identities, acceptUnverified: wanted.unverified },
      seals: sealsOfFolder({ config: read.config, random, log }),
      onTable: (table, rows) => {
        if (world.isTerminal) world.err(`  ${table}: ${rows} rows`);
      },
    });
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
  if (!outcome.ok) return fail(outcome.fault);
  if (json) world.out(JSON.stringify({ ...outcome, resync_hours: resyncHours }));
  else world.out(adviceOn(outcome, resyncHours).join('\n'));
  return EXIT.ok;
}

function identitiesOf(path: string): string[] | null {
  return existsSync(path) ? readIdentities(readFileSync(path, 'utf8')) : null;
}

/** What the operator has to know and to decide next. */
function adviceOn(outcome: Extract<RestoreOutcome, { ok: true }>, resyncHours: number | null): string[] {
  const { manifest, aside, secrets, journalEntries, authenticity } = outcome;
  const families = manifest.tables.refresh_families ?? 0;
  const list = (names: string[]) => names.join(', ');
  return [
    `Restored: the database of ${manifest.created_at}, epoch ${manifest.epoch}; the next start begins a new epoch.`,
    ...(aside === null ? [] : [`The database before is kept: ${aside}`]),
    ...ORIGIN[authenticity],
    ...(secrets.taken.length === 0 ? [] : [`Secrets taken from the backup: ${list(secrets.taken)}`]),
    ...(secrets.kept.length === 0
      ? []
      : [`Secrets that differ and stay as they are here: ${list(secrets.kept)}`]),
    `The revocation journal names ${journalEntries}: they are revoked again at the next start.`,
    'Logins have ended. Seats of registration tokens and operators are as they were at the time of the backup: look through both.',
    resyncHours === null
      ? `Hosts that renewed since the backup (up to ${families}) are revoked at their next renewal and have to be enrolled again, unless you open a resync: POST /api/v1/admin/resync {hours, reason}.`
      : `For ${resyncHours} hours hosts that renewed since the backup are taken along, each once, with a critical event. Close it early: DELETE /api/v1/admin/resync.`,
  ];
}

const ORIGIN = {
  own: [],
  carried: [
    'The backup holds the token secret that it is signed off with: whoever made the file says so, and nobody else.',
  ],
  unverified: [
    'NOT VERIFIED: nothing shows who made this backup. Look through operators and tokens; rows whose seal is of another secret are refused until you run `tidegate seals accept --yes`.',
  ],
} as const;
