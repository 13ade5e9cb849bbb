import { flag, text } from '@tidegate/command-line/declare';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import type { Columns } from '@tidegate/terminal/show-table';
import { atMinute } from '@tidegate/terminal/words';
import { addToken, revokeToken, TOKENS_MAX, TOKENS_PER_GROUP_MAX } from '../fleet-lock/manage-tokens.ts';
import { listTokens } from '../fleet-lock/store.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { CliWorld } from './command.ts';
import { CommandFault, type Installation, withInstallation } from './open-installation.ts';
import { showList } from './show-list.ts';

const ACTOR = 'cli';
const OPTIONS = {
  group: text('GROUP', 'whose hosts share the slots'),
  json: flag('the result as JSON'),
};

const FAULTS = {
  group_form: '--group takes letters, digits, dots and hyphens: FleetLock knows no other names',
  group_full: `the group has ${TOKENS_PER_GROUP_MAX} tokens already: revoke one`,
  full: `there are ${TOKENS_MAX} tokens already: revoke one`,
};

/** `tidegate reboots fleet-lock`: which groups share their slots with FleetLock clients. */
export async function runFleetLock(args: readonly string[], world: CliWorld): Promise<ExitCode> {
  const { values, positionals } = readArgs(args, OPTIONS);
  const { group, json = false } = values;
  const [act, id, ...more] = positionals;
  if (group !== undefined && act !== 'add') throw new UsageError('--group works only with fleet-lock add');
  if (more.length > 0 || (id !== undefined && act !== 'revoke')) {
    throw new UsageError(`unknown words: ${positionals.slice(act === 'revoke' ? 2 : 1).join(' ')}`);
  }
  switch (act) {
    case 'add':
      if (group === undefined) throw new UsageError('fleet-lock add needs --group GROUP');
      return withInstallation(world, (opened) => add(opened, { world, group, json }));
    case 'list':
      return withInstallation(world, (opened) => list(opened, { world, json }));
    case 'revoke':
      if (id === undefined) throw new UsageError('fleet-lock revoke needs an ID');
      return withInstallation(world, (opened) => revoke(opened, { world, id, json }));
    default:
      throw new UsageError('fleet-lock needs one of: add, list, revoke');
  }
}

async function add(
  { platform }: Installation,
  { world, group, json }: { world: CliWorld; group: string; json: boolean },
): Promise<ExitCode> {
  const made = await platform.database.transact((tx) => addToken(tx, platform, { group, by: ACTOR }));
  if (!made.ok) throw new CommandFault(FAULTS[made.why]);
  const { id, secret } = made;
  if (json) {
    world.out(JSON.stringify({ id, group, user: id, password: secret }));
    return EXIT.ok;
  }
  world.err(`The clients of ${group} put this before the host of their base URL, with an @. Shown once:`);
  world.out(`${id}:${secret}`);
  return EXIT.ok;
}

const COLUMNS: Columns<{ id: string; group: string; created_at: string; created_by: string }> = {
  ID: ({ id }) => id,
  GROUP: ({ group }) => group,
  'MADE AT': ({ created_at: at }) => atMinute(at),
  'MADE BY': ({ created_by: by }) => by,
};

async function list(
  { platform }: Installation,
  { world, json }: { world: CliWorld; json: boolean },
): Promise<ExitCode> {
  const rows = await listTokens(platform.database.read, { limit: TOKENS_MAX });
  const tokens = rows.map(({ id, group_name: group, created_by, created_at }) => ({
    ...{ id, group, created_by, created_at: rfc3339(created_at) },
  }));
  showList(world, COLUMNS, { items: tokens, json });
  return EXIT.ok;
}

async function revoke(
  { platform }: Installation,
  { world, id, json }: { world: CliWorld; id: string; json: boolean },
): Promise<ExitCode> {
  const isKnown = await platform.database.transact((tx) => revokeToken(tx, platform, { id, by: ACTOR }));
  if (!isKnown) throw new CommandFault(`there is no FleetLock token ${JSON.stringify(id)}`);
  const text = 'Revoked. The slots that its clients hold stay theirs until a person releases them.';
  world.out(json ? JSON.stringify({ id, revoked: true }) : text);
  return EXIT.ok;
}
