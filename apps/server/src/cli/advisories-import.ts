import { accessSync, constants } from 'node:fs';
import { EXIT, type ExitCode, UsageError } from '@tidegate/terminal/read-args';
import { fleetEcosystems } from '../advisories/mirror/fleet-ecosystems.ts';
import { ecosystemOf, importArchive } from '../advisories/mirror/loading/import-archive.ts';
import type { RecordCounts } from '../advisories/mirror/loading/load-archive.ts';
import { ZipFault } from '../advisories/mirror/loading/read-zip.ts';
import { baseOf, isUsable, snapshotId } from '../advisories/mirror/snapshot.ts';
import { rfc3339 } from '../platform/clock.ts';
import { stepsTo } from './advisories-steps.ts';
import type { CliWorld } from './command.ts';
import { CommandFault, type Installation, withInstallation } from './open-installation.ts';

/** Ecosystems without releases: the name alone selects them. */
const WITHOUT_RELEASES = ['npm', 'PyPI'];
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

export interface ImportWords {
  file: string;
  ecosystem: string | null;
  asOf: string | null;
  replaces: boolean;
  /** The counts that the operator confirms, `IN_USE:FILE`. */
  confirm: string | null;
  json: boolean;
}

/** `tidegate advisories import`: loads an archive from a file, for sites without network access. */
export async function importFile(world: CliWorld, words: ImportWords): Promise<ExitCode> {
  const statedAsOfMs = words.asOf === null ? null : timeOf(words.asOf);
  if (statedAsOfMs !== null && statedAsOfMs > world.now()) throw new UsageError('--as-of is in the future');
  const confirmed = words.confirm === null ? null : countsOf(words.confirm);
  if (confirmed && !words.replaces) throw new UsageError('--confirm works only with --replace');
  return withInstallation(world, async (installation) => {
    try {
      accessSync(words.file, constants.R_OK);
      return await importInto(installation, { world, words, statedAsOfMs, confirmed });
    } catch (error) {
      const isFileFault = error instanceof Error && 'code' in error && typeof error.code === 'string';
      if (!(error instanceof ZipFault) && !isFileFault) throw error;
      throw new CommandFault(`${JSON.stringify(words.file)} cannot be imported: ${error.message}`);
    }
  });
}

async function importInto(
  { platform, config }: Installation,
  {
    world,
    words,
    statedAsOfMs,
    confirmed,
  }: {
    world: CliWorld;
    words: ImportWords;
    statedAsOfMs: number | null;
    confirmed: RecordCounts | null;
  },
): Promise<ExitCode> {
  const { file, ecosystem, json } = words;
  const base = ecosystem === null ? await ecosystemOf(file) : baseOf(ecosystem);
  if (!base) throw new CommandFault('its records do not name their ecosystem: give it by --ecosystem');
  const fleet = (await fleetEcosystems(platform.database.read)).get(base) ?? [];
  const named = ecosystem !== null && ecosystem !== base ? [ecosystem] : [];
  const whole = WITHOUT_RELEASES.includes(base) ? [base] : [];
  const releases = [...new Set([...fleet, ...named, ...whole])].toSorted();
  if (releases.length === 0) {
    throw new CommandFault(
      `no host has reported a release of ${base}: give one, such as --ecosystem ${base}:12`,
    );
  }
  const outcome = await importArchive(platform, {
    ...{ path: file, base, releases, statedAsOfMs, onStep: stepsTo(world) },
    ...(words.replaces ? { replaces: { confirmed, actor: 'cli' } } : {}),
  });
  if (outcome.kind === 'unconfirmed') throw new CommandFault(unconfirmedText(base, outcome.counts));
  if (outcome.kind === 'failed') throw new CommandFault(`not imported: ${outcome.cause}`);
  const { snapshot } = outcome;
  const at = { nowMs: platform.now(), maxAgeMs: config.advisoryMaxAgeHours * 3_600_000 };
  const isStale = !isUsable(snapshot, at);
  const asOf = rfc3339(snapshot.asOfMs);
  const view = { ecosystem: base, releases, snapshot: snapshotId(snapshot), as_of: asOf, stale: isStale };
  const counts = {
    records: snapshot.records,
    bad_records: snapshot.badRecords,
    illegible: snapshot.unreadable,
  };
  if (json) world.out(JSON.stringify({ ...view, as_of_kind: snapshot.asOfKind, ...counts }, null, 2));
  else world.out(`${snapshot.records} records of ${base} (${releases.join(', ')}) as of ${asOf}`);
  if (snapshot.unreadable.length > 0) {
    world.err(
      `${snapshot.unreadable.length} of them are unreadable, so no package can be called clear (see: tidegate advisories status).`,
    );
  }
  if (isStale) {
    world.err(
      `This is older than SERVICE_ADVISORY_MAX_AGE_HOURS (${config.advisoryMaxAgeHours}): decisions treat it as stale.`,
    );
  }
  return EXIT.ok;
}

function timeOf(text: string): number {
  const ms = TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) throw new UsageError('--as-of needs a time such as 2026-12-24T18:00:00Z');
  return ms;
}

function countsOf(text: string): RecordCounts {
  const [, inUse, file] = /^(\d{1,12}):(\d{1,12})$/.exec(text) ?? [];
  if (inUse === undefined || file === undefined)
    throw new UsageError('--confirm needs both counts, such as 52000:48000');
  return { inUse: Number(inUse), file: Number(file) };
}

function unconfirmedText(base: string, { inUse, file }: RecordCounts): string {
  return (
    `nothing has changed: ${inUse} records of ${base} are in use, and the file has ${file}. ` +
    `To replace them, add --confirm ${inUse}:${file}`
  );
}
