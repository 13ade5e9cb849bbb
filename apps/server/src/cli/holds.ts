import { choice, flag, many, text } from '@tidegate/command-line/declare';
import { HoldRequest } from '@tidegate/protocol/holds-api';
import { ECOSYSTEMS } from '@tidegate/protocol/scalars';
import { HOLDS } from '@tidegate/terminal/lists';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { scopeText } from '@tidegate/terminal/words';
import { Check, Errors } from 'typebox/value';
import { countHeld } from '../holds/count-held.ts';
import { holdView } from '../holds/hold-view.ts';
import { holdFault, placeHold, releaseHold } from '../holds/manage-holds.ts';
import { findHold, listHolds } from '../holds/store.ts';
import { type CliWorld, declareCommand } from './command.ts';
import { CommandFault, type Installation, withInstallation } from './open-installation.ts';
import { SCOPE_OPTIONS, scopeOf } from './scope-words.ts';
import { showList } from './show-list.ts';

/** Every change is an event with this actor. */
const ACTOR = 'cli';
/** Holds in force are fewer; with --all the newest are shown. */
const SHOWN_MAX = 1_000;

const OPTIONS = {
  until: text('TIME', 'when it ends, such as 2027-03-01T00:00:00Z, at most a year ahead'),
  reason: text('TEXT', 'why'),
  all: flag('also the newest of those that have ended'),
  ecosystem: many(choice(ECOSYSTEMS, 'the package managers (all of them)')),
  'dry-run': flag('say what would change, and change nothing'),
  json: flag('the result as JSON'),
  ...SCOPE_OPTIONS,
};

export const holdsCommand = declareCommand({
  name: 'holds',
  summary: 'packages that stay as they are: list, place, release',
  calls: [
    { act: 'list', takes: ['all', 'json'] },
    {
      ...{ act: 'place', operands: ['PATTERN ...'], needs: ['until', 'reason'] },
      takes: ['ecosystem', 'group', 'tag', 'host', 'dry-run', 'json'],
    },
    { act: 'release', operands: ['ID'], takes: ['json'] },
  ],
  options: OPTIONS,
  about: `  list      the holds in force
  place     keeps packages as they are: nothing that would change one is approved, and what was approved is withdrawn unless a
            host has begun. In a PATTERN * stands for any characters. Without --group, --tag and --host it is for all hosts
  release   ends a hold before its time; its updates still have to be approved

All of them work on the data directory (SERVICE_DATA_DIR, SERVICE_DATABASE_URL), with or without a running server.`,
  async run(args, world) {
    const { values, positionals } = readArgs(args, OPTIONS);
    const { until, reason, ecosystem, all: isAll = false, 'dry-run': isDry = false, json = false } = values;
    const { group, host, tag } = values;
    const [act, ...words] = positionals;
    if (act === undefined || !ACTS.includes(act)) {
      throw new UsageError(`holds needs one of: ${ACTS.join(', ')}`);
    }
    if (isAll && act !== 'list') throw new UsageError('--all works only with list');
    if (act !== 'place' && (isDry || (until ?? reason ?? ecosystem ?? group ?? host ?? tag) !== undefined)) {
      throw new UsageError(
        '--until, --reason, --ecosystem, --group, --tag, --host and --dry-run work only with place',
      );
    }
    const [first, ...more] = words;
    switch (act) {
      case 'list':
        if (first !== undefined) throw new UsageError(`unknown words: ${words.join(' ')}`);
        return withInstallation(world, (installation) => list(installation, world, { isAll, json }));
      case 'release':
        if (first === undefined || more.length > 0) throw new UsageError('release needs an ID');
        return withInstallation(world, (installation) => release(installation, world, { id: first, json }));
      default:
        if (first === undefined) throw new UsageError('place needs a PATTERN');
        if (until === undefined) throw new UsageError('place needs --until TIME');
        if (reason === undefined) throw new UsageError('place needs --reason TEXT');
        return withInstallation(world, (installation) =>
          place(installation, world, {
            ...{ packages: words, until, reason, ecosystems: ecosystem ?? [...ECOSYSTEMS] },
            ...{ group, host, tag, isDry, json },
          }),
        );
    }
  },
});

const ACTS = ['list', 'place', 'release'];

async function list(
  { platform }: Installation,
  world: CliWorld,
  { isAll, json }: { isAll: boolean; json: boolean },
): Promise<ExitCode> {
  const rows = await listHolds(platform.database.read, { limit: SHOWN_MAX, after: null });
  const holds = rows
    .map((row) => holdView(row, platform.now()))
    .filter(({ state }) => isAll || state === 'in_force');
  showList(world, HOLDS, { items: holds, json });
  return EXIT.ok;
}

async function place(
  { platform }: Installation,
  world: CliWorld,
  asked: {
    packages: string[];
    until: string;
    reason: string;
    ecosystems: string[];
    group: string[] | undefined;
    host: string[] | undefined;
    tag: string[] | undefined;
    isDry: boolean;
    json: boolean;
  },
): Promise<ExitCode> {
  const { packages, until, reason, ecosystems, isDry, json } = asked;
  const db = platform.database.read;
  const request: unknown = { ecosystems, packages, scope: await scopeOf(db, asked), reason, ends_at: until };
  if (!Check(HoldRequest, request)) {
    const [fault] = Errors(HoldRequest, request);
    throw new CommandFault(`${fault?.instancePath || 'the hold'} ${fault?.message ?? 'is not valid'}`);
  }
  const fault = await holdFault(db, request, platform.now());
  if (fault) throw new CommandFault(`${fault.path} ${fault.message}`);
  const held = await countHeld(db, request);
  const row = isDry
    ? null
    : await platform.database.transact((tx) => placeHold(tx, platform, { request, actor: ACTOR }));
  const said = { dry_run: isDry, id: row?.id ?? null, hold: request, held };
  const { updates, security_updates: security, hosts } = held;
  world.out(
    json
      ? JSON.stringify(said, null, 2)
      : [
          `${row ? `On hold (${row.id})` : 'Would hold'} until ${until}: ${packages.join(' ')} on ${scopeText(request.scope)}.`,
          `Kept back now: ${updates} updates, ${security} of them security updates, on ${hosts} hosts.`,
        ].join('\n'),
  );
  return EXIT.ok;
}

async function release(
  { platform }: Installation,
  world: CliWorld,
  { id, json }: { id: string; json: boolean },
): Promise<ExitCode> {
  if (!(await findHold(platform.database.read, id))) {
    throw new CommandFault(`there is no hold ${JSON.stringify(id)}; see tidegate holds list`);
  }
  const isEnded = await platform.database.transact((tx) => releaseHold(tx, platform, { id, actor: ACTOR }));
  if (!isEnded) throw new CommandFault(`the hold ${id} has ended already`);
  world.out(
    json ? JSON.stringify({ released: id }) : 'The hold is released. Its updates still have to be approved.',
  );
  return EXIT.ok;
}
