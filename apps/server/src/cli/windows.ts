import { flag, text } from '@tidegate/command-line/declare';
import { BlackoutEnd, BlackoutRequest } from '@tidegate/protocol/blackouts-api';
import { OPENINGS } from '@tidegate/terminal/lists';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { scopeText } from '@tidegate/terminal/words';
import { Check, Errors } from 'typebox/value';
import { countWithheld } from '../blackouts/count-withheld.ts';
import { blackoutFault, createBlackout, liftBlackout } from '../blackouts/manage-blackouts.ts';
import { liveBlackouts } from '../blackouts/store.ts';
import { agendaOf } from '../calendar/agenda.ts';
import { loadAgenda } from '../calendar/load-agenda.ts';
import { rfc3339Seconds } from '../platform/clock.ts';
import { type CliWorld, declareCommand } from './command.ts';
import { CommandFault, type Installation, withInstallation } from './open-installation.ts';
import { SCOPE_OPTIONS, scopeOf } from './scope-words.ts';
import { tableOf } from './show-list.ts';

/** Every change is an event with this actor. */
const ACTOR = 'cli';
const DAY_MS = 86_400_000;
const DAYS = 31;
const DAYS_MAX = 366;

const OPTIONS = {
  from: text('TIME', 'when it begins, such as 2026-12-01T00:00:00Z'),
  until: text('TIME', 'when it ends'),
  reason: text('TEXT', 'why'),
  days: text('N', 'how many days to list, from 1 to 366 (31)'),
  'dry-run': flag('say what would change, and change nothing'),
  json: flag('the result as JSON'),
  ...SCOPE_OPTIONS,
};

export const windowsCommand = declareCommand({
  name: 'windows',
  summary: 'windows of policies and blackouts: list, freeze, thaw',
  calls: [
    { act: 'list', takes: ['days', 'json'] },
    {
      ...{ act: 'freeze', operands: ['NAME'], needs: ['from', 'until', 'reason'] },
      takes: ['group', 'tag', 'host', 'dry-run', 'json'],
    },
    { act: 'thaw', operands: ['NAME'], needs: ['reason'], takes: ['json'] },
  ],
  options: OPTIONS,
  about: `  list     when windows of policies open and blackouts withhold, in UTC
  freeze   begins a blackout: hosts are given no command that changes them, whoever approved it. Without --group, --tag and
           --host it is for all hosts
  thaw     ends a blackout before its time: what it withheld is delivered at once

All of them work on the data directory (SERVICE_DATA_DIR, SERVICE_DATABASE_URL), with or without a running server.
Blackouts that recur are made with POST /api/v1/blackouts.`,
  async run(args, world) {
    const { values, positionals } = readArgs(args, OPTIONS);
    const { from, until, reason, days, 'dry-run': isDry = false, json = false, ...named } = values;
    const [act, name, ...more] = positionals;
    if (act === undefined || !ACTS.includes(act)) {
      throw new UsageError(`windows needs one of: ${ACTS.join(', ')}`);
    }
    if (act !== 'list' && days !== undefined) throw new UsageError('--days works only with list');
    if (act !== 'freeze' && (from ?? until ?? named.group ?? named.host ?? named.tag) !== undefined) {
      throw new UsageError('--from, --until, --group, --tag and --host work only with freeze');
    }
    if (act !== 'freeze' && isDry) throw new UsageError('--dry-run works only with freeze');
    if (act === 'list') {
      if (name !== undefined) throw new UsageError(`unknown words: ${[name, ...more].join(' ')}`);
      if (reason !== undefined) throw new UsageError('--reason works only with freeze and thaw');
      const count = daysOf(days);
      return withInstallation(world, (installation) => list(installation, world, { days: count, json }));
    }
    if (name === undefined || more.length > 0) throw new UsageError(`${act} needs a NAME`);
    if (reason === undefined) throw new UsageError(`${act} needs --reason TEXT`);
    if (act === 'thaw') {
      return withInstallation(world, (installation) => thaw(installation, world, { name, reason, json }));
    }
    if (from === undefined || until === undefined) {
      throw new UsageError('freeze needs --from TIME and --until TIME');
    }
    return withInstallation(world, (installation) =>
      freeze(installation, world, { name, from, until, reason, isDry, json, ...named }),
    );
  },
});

const ACTS = ['list', 'freeze', 'thaw'];

function daysOf(text: string | undefined): number {
  const days = text === undefined ? DAYS : Number(text);
  if (Number.isInteger(days) && days >= 1 && days <= DAYS_MAX) return days;
  throw new UsageError(`--days must be a whole number from 1 to ${DAYS_MAX}`);
}

async function list(
  { platform }: Installation,
  world: CliWorld,
  { days, json }: { days: number; json: boolean },
): Promise<ExitCode> {
  const db = platform.database.read;
  const nowMs = platform.now();
  const range = { fromMs: nowMs, toMs: nowMs + days * DAY_MS };
  const agenda = await loadAgenda(db, { ...range, nowMs });
  const entries = (await agendaOf(agenda, range)).map(({ kind, name, actions, startMs, endMs }) => ({
    ...{ kind, name, actions, starts_at: rfc3339Seconds(startMs), ends_at: rfc3339Seconds(endMs) },
  }));
  // One without windows has no place in a calendar, and is the one that runs most.
  const always = agenda.policies.filter(({ windows }) => windows.length === 0).map(({ name }) => name);
  if (json) {
    world.out(JSON.stringify({ entries, always }, null, 2));
    return EXIT.ok;
  }
  world.out(
    [
      tableOf(world, OPENINGS, entries),
      ...always.map((name) => `at any time: the policy ${JSON.stringify(name)}`),
    ].join('\n'),
  );
  return EXIT.ok;
}

async function freeze(
  { platform }: Installation,
  world: CliWorld,
  asked: Omit<BlackoutRequest, 'scope' | 'times'> & {
    from: string;
    until: string;
    tag?: string[] | undefined;
    group?: string[] | undefined;
    host?: string[] | undefined;
    isDry: boolean;
    json: boolean;
  },
): Promise<ExitCode> {
  const { name, from, until, reason, isDry, json } = asked;
  const db = platform.database.read;
  const request: unknown = {
    ...{ name, reason, scope: await scopeOf(db, asked) },
    times: { kind: 'once', starts_at: from, ends_at: until },
  };
  if (!Check(BlackoutRequest, request)) {
    const [fault] = Errors(BlackoutRequest, request);
    throw new CommandFault(`${fault?.instancePath || 'the blackout'} ${fault?.message ?? 'is not valid'}`);
  }
  const fault = await blackoutFault(db, request, platform.now());
  if (fault) throw new CommandFault(`${fault.path} ${fault.message}`);
  const withheld = await countWithheld(db, request.scope);
  if (!isDry) {
    await platform.database.transact((tx) => createBlackout(tx, platform, { request, actor: ACTOR }));
  }
  const { scope } = request;
  if (json) {
    world.out(JSON.stringify({ dry_run: isDry, blackout: request, ...withheld }, null, 2));
    return EXIT.ok;
  }
  const { hosts, commands } = withheld;
  world.out(
    [
      `${isDry ? 'Would freeze' : 'Frozen'} from ${from} until ${until}: ${scopeText(scope)} (${hosts} enrolled).`,
      `${commands} ${commands === 1 ? 'command that changes a host waits' : 'commands that change hosts wait'} there now.`,
    ].join('\n'),
  );
  return EXIT.ok;
}

async function thaw(
  { platform }: Installation,
  world: CliWorld,
  { name, reason, json }: { name: string; reason: string; json: boolean },
): Promise<ExitCode> {
  const found = (await liveBlackouts(platform.database.read, platform.now())).find(
    (blackout) => blackout.name === name,
  );
  if (!found) {
    throw new CommandFault(`there is no blackout ${JSON.stringify(name)}; see tidegate windows list`);
  }
  if (!Check(BlackoutEnd, { reason })) throw new CommandFault('--reason needs a visible character');
  const { id } = found;
  await platform.database.transact((tx) => liftBlackout(tx, platform, { id, reason, actor: ACTOR }));
  world.out(
    json
      ? JSON.stringify({ ended: id })
      : `The blackout ${JSON.stringify(name)} is ended. What it withheld is delivered with the next check-ins.`,
  );
  return EXIT.ok;
}
