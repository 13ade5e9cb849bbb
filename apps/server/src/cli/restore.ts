import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { file, flag, text } from '@tidegate/command-line/declare';
import { RESYNC_MAX_HOURS } from '@tidegate/protocol/resync-api';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { readConfig } from '../config.ts';
import { MIGRATIONS } from '../migrations.ts';
import { createIdMaker } from '../platform/ids.ts';
import { createLog } from '../platform/log.ts';
import { readSecrets } from '../platform/secrets.ts';
import { readIdentities } from '../restore/backup-crypto.ts';
import { type RestoreOutcome, restoreBackup } from '../restore/restore-backup.ts';
import { sealsOfFolder } from '../restore/seals-of-folder.ts';
import { type CliWorld, declareCommand } from './command.ts';

const OPTIONS = {
  'resync-hours': text(
    'N',
    'for N hours (at most 72) each host whose token is newer than the backup may resync once. Without it the next renewal of such a host counts as reuse, which revokes it; it must then be enrolled again',
  ),
  identity: file('a file of age identities, for an encrypted backup', 'KEYFILE'),
  unverified: flag(
    'restore also a file without a MAC under this token secret: a backup of an older version, or of a server whose secret is lost. Its content is then trusted, but rows that grant rights count only after `tidegate seals accept`',
  ),
  json: flag('describe what was restored as JSON'),
};

export const restoreCommand = declareCommand({
  name: 'restore',
  summary: 'replace the database with a backup',
  calls: [{ operands: ['FILE'], takes: ['resync-hours', 'identity', 'unverified', 'json'] }],
  options: OPTIONS,
  about: `Replaces the database with a backup while no server runs. The backup is checked first, and the old database is kept
aside. On PostgreSQL SERVICE_DATABASE_URL must name an empty database. The next start begins a new epoch, and revokes
again everything revoked since the backup.`,
  async run(args, world) {
    const { values, positionals } = readArgs(args, OPTIONS);
    const [file, ...more] = positionals;
    if (file === undefined || more.length > 0) throw new UsageError('give exactly one backup file');
    const resyncHours = hoursOf(values['resync-hours']);
    const { identity = null, unverified = false, json = false } = values;
    return restore(world, { file, resyncHours, identity, unverified, json });
  },
});

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
  if (identities === null) return fail(`${wanted.identity} cannot be read as a file of age identities`);
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

/** What the operator must know and decide next. */
function adviceOn(outcome: Extract<RestoreOutcome, { ok: true }>, resyncHours: number | null): string[] {
  const { manifest, aside, secrets, journalEntries, authenticity } = outcome;
  const families = manifest.tables.refresh_families ?? 0;
  const list = (names: string[]) => names.join(', ');
  return [
    `Restored: the database of ${manifest.created_at}, epoch ${manifest.epoch}; the next start begins a new epoch.`,
    ...(aside === null ? [] : [`The old database is kept: ${aside}`]),
    ...ORIGIN[authenticity],
    ...(secrets.taken.length === 0 ? [] : [`Secrets taken from the backup: ${list(secrets.taken)}`]),
    ...(secrets.kept.length === 0
      ? []
      : [`Secrets that differ from the backup and were kept: ${list(secrets.kept)}`]),
    `Revocations in the journal: ${journalEntries}; the next start applies them again.`,
    'Logins have ended. Operators and seats of registration tokens are as they were at the backup: review both.',
    resyncHours === null
      ? `Hosts that renewed since the backup (up to ${families}) are revoked at their next renewal and must be enrolled again, unless you open a resync: POST /api/v1/admin/resync {hours, reason}.`
      : `For ${resyncHours} hours each host that renewed since the backup may resync once, with a critical event. To close the resync early: DELETE /api/v1/admin/resync.`,
  ];
}

const ORIGIN = {
  own: [],
  carried: [
    'The backup contains the token secret that authenticates it, so nothing but the file itself vouches for its content.',
  ],
  unverified: [
    'NOT VERIFIED: nothing shows who made this backup. Review operators and tokens; rows sealed with another secret are refused until you run `tidegate seals accept --yes`.',
  ],
} as const;
