import { join } from 'node:path';
import { flag, text } from '@tidegate/command-line/declare';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { showTable } from '@tidegate/terminal/show-table';
import { createExportClient } from '../advisories/mirror/loading/export-client.ts';
import { type EcosystemState, refreshEcosystem } from '../advisories/mirror/loading/refresh-ecosystem.ts';
import { createMirrorRefresher } from '../advisories/mirror/mirror-refresher.ts';
import { MIRROR_FOLDER } from '../advisories/mirror/open-mirror.ts';
import { isUsable, snapshotId } from '../advisories/mirror/snapshot.ts';
import { createOsvClient } from '../advisories/osv-client.ts';
import { rfc3339 } from '../platform/clock.ts';
import { importFile } from './advisories-import.ts';
import { stepsTo } from './advisories-steps.ts';
import { type CliWorld, declareCommand } from './command.ts';
import { CommandFault, type Installation, withInstallation } from './open-installation.ts';

/** Ids that the table names per ecosystem; `--json` has all of them. */
const NAMED_UNREADABLE = 3;

const OPTIONS = {
  ecosystem: text(
    'NAME',
    'the ecosystem of the file (read from its records if they name one), or a release that no host has reported yet, such as Debian:12',
  ),
  'as-of': text('TIME', 'when the file was fetched (RFC 3339)'),
  replace: flag(
    'corrects a wrong import: also takes a file with far fewer or older records than are in use. It shows both counts, and replaces nothing until they are confirmed by --confirm',
  ),
  confirm: text('IN_USE:FILE', 'the two counts that --replace showed'),
  full: flag('from the whole archives instead of the lists of changes'),
  json: flag('the result as JSON'),
};

export const advisoriesCommand = declareCommand({
  name: 'advisories',
  summary: 'the mirror of vulnerabilities: status, refresh, import',
  calls: [
    { act: 'status', takes: ['json'] },
    { act: 'refresh', takes: ['full', 'json'] },
    { act: 'import', operands: ['FILE'], takes: ['ecosystem', 'as-of', 'replace', 'confirm', 'json'] },
  ],
  options: OPTIONS,
  about: `  status    what the mirror holds for the hosts of the fleet, how old it is, and what is being loaded. UNREADABLE names
            records that do not say which packages they affect: while there is one, no package of the ecosystem is
            called clear
  refresh   updates the mirror now
  import    loads the archive all.zip of an ecosystem from a file, for sites without network access

Importing does not make data newer: without --as-of it is as old as its newest record. If you know when the file was
fetched, say so. Decisions treat data as stale after SERVICE_ADVISORY_MAX_AGE_HOURS; a site that imports once a week
sets it to 192. All three work with or without a running server.`,
  async run(args, world) {
    const { values, positionals } = readArgs(args, OPTIONS);
    const { json = false, full, ...given } = values;
    const [name, ...words] = positionals;
    const [strange] = Object.keys(given);
    if (name !== 'import' && strange !== undefined)
      throw new UsageError(`--${strange} works only with import`);
    if (name !== 'refresh' && full !== undefined) throw new UsageError('--full works only with refresh');
    if (name === 'import') {
      const [file, ...more] = words;
      if (file === undefined || more.length > 0) throw new UsageError('advisories import needs one FILE');
      const asOf = given['as-of'] ?? null;
      const { ecosystem = null, replace: replaces = false, confirm = null } = given;
      return importFile(world, { file, ecosystem, asOf, replaces, confirm, json });
    }
    if (words.length > 0) throw new UsageError(`unknown words: ${words.join(' ')}`);
    if (name === 'status') return withInstallation(world, (opened) => status({ ...opened, world, json }));
    if (name !== 'refresh') throw new UsageError('advisories needs one of: status, refresh, import');
    return withInstallation(world, (opened) => refresh({ ...opened, world, json }, full ?? false));
  },
});

interface Context extends Installation {
  world: CliWorld;
  json: boolean;
}

async function status(context: Context): Promise<ExitCode> {
  const states = await statesOf(context);
  const { advisorySource: source } = context.config;
  const shown = states.map((state) => viewOf(context, state));
  if (context.json) {
    context.world.out(JSON.stringify({ source, ecosystems: shown }, null, 2));
    return EXIT.ok;
  }
  const heading = ['ECOSYSTEM', 'STATE', 'AS OF', 'RECORDS', 'BAD', 'UNREADABLE', 'RELEASES', 'LOAD'];
  const rows = shown.map((one) => [
    one.ecosystem,
    one.state,
    one.as_of === null ? '-' : `${one.as_of} (${one.as_of_kind?.replace('_', ' ')})`,
    String(one.records ?? '-'),
    String(one.bad_records ?? '-'),
    unreadableText(one.illegible),
    one.releases.join(', '),
    one.load ?? '-',
  ]);
  context.world.err(`Vulnerabilities come from: ${source}`);
  context.world.out(
    shown.length > 0
      ? showTable([heading, ...rows])
      : 'No host has reported an ecosystem that the mirror covers.',
  );
  return EXIT.ok;
}

function viewOf({ platform, config }: Context, { base, releases, snapshot, load }: EcosystemState) {
  const at = { nowMs: platform.now(), maxAgeMs: config.advisoryMaxAgeHours * 3_600_000 };
  const isHeld = snapshot !== null && releases.every((one) => snapshot.releases.includes(one));
  return {
    ecosystem: base,
    state: isHeld ? (isUsable(snapshot, at) ? 'ok' : 'stale') : 'absent',
    releases: snapshot?.releases ?? releases,
    snapshot: snapshot ? snapshotId(snapshot) : null,
    source: snapshot?.source ?? null,
    sha256: snapshot?.sha256 ?? null,
    as_of: snapshot ? rfc3339(snapshot.asOfMs) : null,
    as_of_kind: snapshot?.asOfKind ?? null,
    loaded_at: snapshot ? rfc3339(snapshot.loadedAtMs) : null,
    records: snapshot?.records ?? null,
    bad_records: snapshot?.badRecords ?? null,
    illegible: snapshot?.unreadable ?? [],
    load: load && load.phase !== 'done' ? loadText(load) : null,
  };
}

/** Unreadable records: they keep every package of the ecosystem from being called clear. */
function unreadableText(ids: readonly string[]): string {
  if (ids.length <= NAMED_UNREADABLE) return ids.length > 0 ? ids.join(', ') : '-';
  return `${ids.slice(0, NAMED_UNREADABLE).join(', ')} and ${ids.length - NAMED_UNREADABLE} more`;
}

function loadText({ phase, done, total, error }: NonNullable<EcosystemState['load']>): string {
  if (phase === 'failed') return `failed: ${error}`;
  return `${phase} ${done}${total > 0 ? ` of ${total}` : ''}`;
}

async function refresh(context: Context, isFull: boolean): Promise<ExitCode> {
  const { platform, config, world } = context;
  const { advisorySource: source, advisoryExportUrl: baseUrl } = config;
  if (source !== 'mirror' && source !== 'mirror+api') {
    throw new CommandFault(`SERVICE_ADVISORY_SOURCE is ${source}: there is no mirror to refresh`);
  }
  if (baseUrl === 'none')
    throw new CommandFault('SERVICE_ADVISORY_EXPORT_URL is none: use `tidegate advisories import`');
  const exportClient = createExportClient({ baseUrl });
  const api = createOsvClient({ baseUrl: config.advisoryApiUrl });
  try {
    const deps = {
      ...{ platform, exportClient, folder: join(config.dataDir, MIRROR_FOLDER) },
      maxAgeMs: config.advisoryMaxAgeHours * 3_600_000,
      api: source === 'mirror+api' ? api : null,
      onStep: stepsTo(world),
    };
    const failed: string[] = [];
    for (const state of await statesOf(context)) {
      const isDone = await refreshEcosystem(deps, state, isFull ? 'full' : dueNow(state));
      if (!isDone) failed.push(state.base);
    }
    await status(context);
    if (failed.length === 0) return EXIT.ok;
    world.err(`Not refreshed: ${failed.join(', ')}`);
    return EXIT.failed;
  } finally {
    await exportClient.close();
    await api.close();
  }
}

function dueNow({ snapshot, releases }: EcosystemState): 'full' | 'changes' {
  return snapshot && releases.every((one) => snapshot.releases.includes(one)) ? 'changes' : 'full';
}

function statesOf({ platform, config }: Context): Promise<EcosystemState[]> {
  const maxAgeMs = config.advisoryMaxAgeHours * 3_600_000;
  const folder = join(config.dataDir, MIRROR_FOLDER);
  return createMirrorRefresher({ platform, exportClient: null, api: null, folder, maxAgeMs }).states();
}
