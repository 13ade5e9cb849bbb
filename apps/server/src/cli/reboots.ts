import { choice, flag, text } from '@tidegate/command-line/declare';
import { counted } from '@tidegate/protocol/count-words';
import {
  type HostReboot,
  REBOOT_STATES,
  RebootAsk,
  RebootState,
  SlotLimits,
} from '@tidegate/protocol/reboots-api';
import { REBOOTS, SLOTS } from '@tidegate/terminal/lists';
import { EXIT, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { scopeText } from '@tidegate/terminal/words';
import { Check, Errors } from 'typebox/value';
import { askFault, askReboots } from '../reboots/ask-reboots.ts';
import { cancelReboot } from '../reboots/cancel-reboot.ts';
import { releaseSlot, setLimits, slotGroups } from '../reboots/manage-slots.ts';
import { findReboot, listReboots } from '../reboots/store.ts';
import { viewReboots } from '../reboots/view-reboots.ts';
import { type CliWorld, declareCommand } from './command.ts';
import { runFleetLock } from './fleet-lock.ts';
import { CommandFault, type Installation, withInstallation } from './open-installation.ts';
import { SCOPE_OPTIONS, scopeOf } from './scope-words.ts';
import { tableOf } from './show-list.ts';

/** Every change is an event with this actor. */
const ACTOR = 'cli';
/** Hosts that a list shows. */
const SHOWN_MAX = 1_000;
const ACTS = ['list', 'show', 'ask', 'cancel', 'slots', 'limit', 'release'];
const NUMBER = /^[0-9]{1,6}$/;

const OPTIONS = {
  until: text('TIME', 'what has not begun then is given up'),
  reason: text('TEXT', 'why'),
  warn: text('MINUTES', 'how long logged-in users are warned before'),
  services: flag('those whose services run replaced files, for a restart of these'),
  all: flag('also hosts that need none'),
  'dry-run': flag('say what would change, and change nothing'),
  'at-once': text('N', 'hosts that may be down at once'),
  healthy: text('N', 'others that must be up and well (0)'),
  'halt-after': text('N', 'hosts that failed and stop the group (2)'),
  state: choice(REBOOT_STATES, 'only those in this state'),
  json: flag('the result as JSON'),
  ...SCOPE_OPTIONS,
};

const readWords = (args: readonly string[]) => readArgs(args, OPTIONS);
type Words = ReturnType<typeof readWords>['values'];

/** The options of each act, beside --json. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  list: ['state'],
  ask: ['until', 'reason', 'warn', 'services', 'all', 'dry-run', 'group', 'tag', 'host'],
  limit: ['group', 'at-once', 'healthy', 'halt-after'],
  release: ['reason'],
};

export const rebootsCommand = declareCommand({
  name: 'reboots',
  summary: 'reboots and restarts of services: list, show, ask, cancel, slots, limit, release, fleet-lock',
  calls: [
    { act: 'list', takes: ['state', 'json'] },
    { act: 'show', operands: ['ID'], takes: ['json'] },
    {
      ...{ act: 'ask', needs: ['until', 'reason'] },
      takes: ['services', 'all', 'warn', 'group', 'tag', 'host', 'dry-run', 'json'],
    },
    { act: 'cancel', operands: ['ID'], takes: ['json'] },
    { act: 'slots', takes: ['json'] },
    { act: 'limit', needs: ['at-once'], takes: ['group', 'healthy', 'halt-after', 'json'] },
    { act: 'release', operands: ['SLOT'], needs: ['reason'], takes: ['json'] },
    { act: 'fleet-lock add', needs: ['group'], takes: ['json'] },
    { act: 'fleet-lock list', takes: ['json'] },
    { act: 'fleet-lock revoke', operands: ['ID'], takes: ['json'] },
  ],
  options: OPTIONS,
  about: `  list      hosts that wait, are down or have ended, newest first
  ask       queues the hosts that report that they need a reboot
  cancel    takes a host out of the queue, or has it call off what has not begun
  slots     how many hosts of each group may be down at once, and which are
  limit     sets that. Without --group it is for the hosts of no group
  release   frees the slot of a host that failed, after somebody looked at it
  fleet-lock  shares the slots of a group with hosts that ask by FleetLock (CoreOS, Flatcar): add makes a token for them and
            prints it once, alone on the standard output. Without a token the two calls do not exist

All of them work on the data directory (SERVICE_DATA_DIR, SERVICE_DATABASE_URL); a running server does what is queued.`,
  async run(args, world) {
    if (args[0] === 'fleet-lock') return runFleetLock(args.slice(1), world);
    const { values, positionals } = readWords(args);
    const { json = false } = values;
    const [act, ...words] = positionals;
    if (act === undefined || !ACTS.includes(act)) {
      throw new UsageError(`reboots needs one of: ${[...ACTS, 'fleet-lock'].join(', ')}`);
    }
    const wrong = Object.keys(values).find((name) => name !== 'json' && !ALLOWED[act]?.includes(name));
    if (wrong !== undefined) throw new UsageError(`--${wrong} does not work with ${act}`);
    const [id, ...more] = words;
    const isNamed = ['show', 'cancel', 'release'].includes(act);
    if (isNamed && (id === undefined || more.length > 0)) throw new UsageError(`${act} needs an ID`);
    if (!isNamed && id !== undefined) throw new UsageError(`unknown words: ${words.join(' ')}`);
    return withInstallation(world, async (installation) => {
      const said = await perform(installation, { act, id: id ?? '', values, world });
      world.out(json ? JSON.stringify(said.json, null, 2) : said.text);
      return EXIT.ok;
    });
  },
});

interface Said {
  readonly json: unknown;
  readonly text: string;
}

async function perform(
  { platform }: Installation,
  { act, id, values, world }: { act: string; id: string; values: Words; world: CliWorld },
): Promise<Said> {
  const { database } = platform;
  switch (act) {
    case 'list':
      return listed(platform, { state: values.state, world });
    case 'show': {
      const row = await findReboot(database.read, id);
      const [json] = await viewReboots(database.read, row ? [row] : [], platform.now());
      if (!json)
        throw new CommandFault(`there is no reboot ${JSON.stringify(id)}; see tidegate reboots list`);
      return { json, text: shown(json) };
    }
    case 'ask':
      return asked(platform, values);
    case 'cancel': {
      const outcome = await database.transact((tx) => cancelReboot(tx, platform, { id, by: ACTOR }));
      if (outcome === 'unknown') throw new CommandFault(`there is no reboot ${JSON.stringify(id)}`);
      if (outcome === 'ended') throw new CommandFault('it has ended already');
      if (outcome === 'too_late') throw new CommandFault('the host has begun');
      const text =
        outcome === 'asked' ? 'The host is asked to call it off; its answer decides.' : 'Cancelled.';
      return { json: { id, outcome }, text };
    }
    case 'slots': {
      const items = await slotGroups(database.read, platform.now());
      return { json: { items }, text: tableOf(world, SLOTS, items) };
    }
    case 'limit':
      return limited(platform, values);
    default: {
      const { reason } = values;
      if (reason === undefined) throw new CommandFault('release needs --reason TEXT');
      const is = await database.transact((tx) => releaseSlot(tx, platform, { id, reason, by: ACTOR }));
      if (!is) throw new CommandFault(`no host that failed has the slot ${JSON.stringify(id)}`);
      return { json: { released: id }, text: 'The slot is free. The next host of the group may go down.' };
    }
  }
}

async function listed(
  { database, now }: Installation['platform'],
  { state, world }: { state: string | undefined; world: CliWorld },
): Promise<Said> {
  if (state !== undefined && !Check(RebootState, state)) throw new CommandFault(`there is no state ${state}`);
  const rows = await listReboots(database.read, { filter: { state }, limit: SHOWN_MAX, after: null });
  const items = await viewReboots(database.read, rows, now());
  return { json: { items }, text: tableOf(world, REBOOTS, items) };
}

function shown(one: HostReboot): string {
  return Object.entries(one)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}: ${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join('\n');
}

async function asked(platform: Installation['platform'], values: Words): Promise<Said> {
  const { until, reason, warn, services = false, all = false, 'dry-run': isDry = false } = values;
  const db = platform.database.read;
  if (until === undefined) throw new CommandFault('ask needs --until TIME');
  if (reason === undefined) throw new CommandFault('ask needs --reason TEXT');
  const ask: unknown = {
    ...{ kind: services ? 'restart_services' : 'reboot', scope: await scopeOf(db, values) },
    ...{ reason, deadline: until, only_needed: !all, dry_run: isDry },
    ...(warn === undefined ? {} : { warn_minutes: numberOf('warn', warn) }),
  };
  if (!Check(RebootAsk, ask)) {
    const [fault] = Errors(RebootAsk, ask);
    throw new CommandFault(`${fault?.instancePath || 'the request'} ${fault?.message ?? 'is not valid'}`);
  }
  const fault = await askFault(db, ask, platform.now());
  if (fault) throw new CommandFault(`${fault.path} ${fault.message}`);
  const json = await platform.database.transact((tx) => askReboots(tx, platform, { ask, by: ACTOR }));
  const names = json.hosts.map(({ hostname }) => hostname).join(', ');
  const left = json.left_out.map(({ why, hosts }) => `${hosts} ${why.replaceAll('_', ' ')}`).join(', ');
  const text = [
    `${isDry ? 'Would queue' : 'Queued'}: ${counted(json.queued, 'host')} of ${scopeText(ask.scope)}, until ${until}.`,
    ...(names === '' ? [] : [`Hosts: ${names}${json.queued > json.hosts.length ? ', ...' : ''}`]),
    ...(left === '' ? [] : [`Left out: ${left}.`]),
  ].join('\n');
  return { json, text };
}

async function limited({ database, ...rest }: Installation['platform'], values: Words): Promise<Said> {
  const { group: groups = [], 'at-once': most, healthy = '0', 'halt-after': halt = '2' } = values;
  if (most === undefined) throw new CommandFault('limit needs --at-once N');
  const [group = null, ...others] = groups;
  if (others.length > 0) throw new CommandFault('limit takes one --group');
  const asked: unknown = {
    ...{ group, max_at_once: numberOf('at-once', most), min_healthy: numberOf('healthy', healthy) },
    halt_after: numberOf('halt-after', halt),
  };
  if (!Check(SlotLimits, asked)) {
    const [fault] = Errors(SlotLimits, asked);
    throw new CommandFault(`${fault?.instancePath || 'the limits'} ${fault?.message ?? 'are not valid'}`);
  }
  await database.transact((tx) => setLimits(tx, rest, { asked, by: ACTOR }));
  return { json: asked, text: `At most ${most} hosts of ${group ?? 'no group'} are down at once.` };
}

function numberOf(option: string, text: string): number {
  if (!NUMBER.test(text)) throw new CommandFault(`--${option} needs a number`);
  return Number(text);
}
