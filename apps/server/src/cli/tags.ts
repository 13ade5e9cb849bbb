import { flag, many, text } from '@tidegate/command-line/declare';
import { TagHostsRequest } from '@tidegate/protocol/tags-api';
import { TAGS } from '@tidegate/terminal/lists';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { Check, Errors } from 'typebox/value';
import { findAgentsInGroups } from '../agents/group-store.ts';
import { tagHosts } from '../agents/tag-hosts.ts';
import { listTags, type TagCount, tagsOfHosts } from '../agents/tag-store.ts';
import { chunks } from '../platform/db/chunks.ts';
import { type CliWorld, declareCommand } from './command.ts';
import { CommandFault, type Installation, withInstallation } from './open-installation.ts';
import { scopeOf } from './scope-words.ts';
import { showList } from './show-list.ts';

/** Every change is an event with this actor and the tags before and after. */
const BY = { username: 'cli', groups: null };
const PAGE = 1_000;
/** Hosts of one transaction. */
const BATCH_HOSTS = 1_000;

const OPTIONS = {
  group: many(text('GROUP', 'the hosts of a group')),
  host: many(text('HOST', 'a host, by id or whole host name')),
  'dry-run': flag('say what would change, and change nothing'),
  json: flag('the result as JSON'),
};

export const tagsCommand = declareCommand({
  name: 'tags',
  summary: 'tags of hosts: list, set, remove',
  calls: [
    { act: 'list', takes: ['host', 'json'] },
    { act: 'set', operands: ['TAG ...'], takes: ['host', 'group', 'dry-run', 'json'] },
    { act: 'remove', operands: ['KEY ...'], takes: ['host', 'group', 'dry-run', 'json'] },
  ],
  options: OPTIONS,
  about: `  list     every tag and how many hosts have it; with --host the tags of one host
  set      gives the hosts of --host or --group tags such as env=prod; a tag whose key the host has gets the new value
  remove   takes tags away from the hosts of --host or --group, by key

Policies, blackouts and holds go by tags that operators set. Keys that begin with host. are for what hosts report of
themselves: they are listed, and cannot be set.
All of them work on the data directory (SERVICE_DATA_DIR, SERVICE_DATABASE_URL), with or without a running server.`,
  async run(args, world) {
    const { values, positionals } = readArgs(args, OPTIONS);
    const { group, host, 'dry-run': isDry = false, json = false } = values;
    const [act, ...words] = positionals;
    if (act === 'list') {
      if (words.length > 0) throw new UsageError(`unknown words: ${words.join(' ')}`);
      if (isDry || group !== undefined)
        throw new UsageError('--group and --dry-run work only with set and remove');
      if ((host ?? []).length > 1) throw new UsageError('list takes one --host');
      return withInstallation(world, (installation) => list(installation, world, { host, json }));
    }
    if (act !== 'set' && act !== 'remove') throw new UsageError('tags needs one of: list, set, remove');
    if (words.length === 0) throw new UsageError(`${act} needs a ${act === 'set' ? 'TAG' : 'KEY'}`);
    if (group === undefined && host === undefined)
      throw new UsageError(`${act} needs --host HOST or --group GROUP`);
    const change = act === 'set' ? { set: words, remove: [] } : { set: [], remove: words };
    return withInstallation(world, (installation) =>
      apply(installation, world, { change, group, host, isDry, json }),
    );
  },
});

interface Named {
  group?: string[] | undefined;
  host?: string[] | undefined;
}

async function list(
  { platform }: Installation,
  world: CliWorld,
  { host, json }: Named & { json: boolean },
): Promise<ExitCode> {
  const db = platform.database.read;
  if (host !== undefined) {
    const scope = await scopeOf(db, { host });
    const id = scope.kind === 'some' ? scope.hosts[0] : undefined;
    const tags = id === undefined ? [] : ((await tagsOfHosts(db, [id])).get(id) ?? []);
    world.out(json ? JSON.stringify({ tags }, null, 2) : tags.join('\n') || 'The host has no tags.');
    return EXIT.ok;
  }
  const tags: { tag: string; hosts: number; reported: boolean }[] = [];
  for (const isReported of [false, true]) {
    let page: TagCount[];
    let after: TagCount | null = null;
    do {
      page = await listTags(db, { scope: null, isReported, limit: PAGE, after });
      after = page.at(-1) ?? null;
      for (const { key, value, hosts } of page) {
        tags.push({ tag: `${key}=${value}`, hosts, reported: isReported });
      }
    } while (page.length === PAGE);
  }
  showList(world, TAGS, { items: tags, json });
  return EXIT.ok;
}

async function apply(
  { platform }: Installation,
  world: CliWorld,
  asked: Named & { change: { set: string[]; remove: string[] }; isDry: boolean; json: boolean },
): Promise<ExitCode> {
  const { change, isDry, json } = asked;
  const ids = await hostsOf(platform, asked);
  const [first = '00000000-0000-0000-0000-000000000000'] = ids;
  const request: unknown = { agent_ids: [first], ...change };
  if (!Check(TagHostsRequest, request)) {
    const [fault] = Errors(TagHostsRequest, request);
    throw new CommandFault(`${fault?.instancePath || 'the change'} ${fault?.message ?? 'is not valid'}`);
  }
  const changed: string[] = [];
  for (const agent_ids of chunks(ids, BATCH_HOSTS)) {
    const answer = await tagHosts(platform, { request: { ...request, agent_ids }, by: BY, isDry });
    changed.push(...answer.changed);
  }
  const said = { dry_run: isDry, ...change, hosts: ids.length, changed };
  const what = change.set.length > 0 ? `set ${change.set.join(' ')}` : `removed ${change.remove.join(' ')}`;
  world.out(
    json
      ? JSON.stringify(said, null, 2)
      : `${isDry ? 'Would change' : 'Changed'} ${changed.length} of ${ids.length} hosts: ${what}.`,
  );
  return EXIT.ok;
}

/** The hosts that --group and --host name, each once. */
async function hostsOf(
  { database }: Installation['platform'],
  { group = [], host }: Named,
): Promise<string[]> {
  const named = host === undefined ? null : await scopeOf(database.read, { host });
  const ids = new Set(named?.kind === 'some' ? named.hosts : []);
  for (const id of await findAgentsInGroups(database.read, group)) ids.add(id);
  if (ids.size === 0) throw new CommandFault('no host is in these groups');
  return [...ids];
}
