import { choice, flag, text } from '@tidegate/command-line/declare';
import { exploitedListText } from '@tidegate/protocol/exploited-words';
import {
  MitigationRequest,
  UNFIXED_SORT_DEFAULT,
  UnfixedFilter,
  type UnfixedItem,
} from '@tidegate/protocol/unfixed-api';
import { UNFIXED } from '@tidegate/terminal/lists';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { Check } from 'typebox/value';
import { kevListView } from '../advisories/exploited/kev-list.ts';
import { readKevList } from '../advisories/exploited/store.ts';
import { rfc3339 } from '../platform/clock.ts';
import {
  coverageOf,
  findByName,
  listUnfixed,
  type UnfixedSelection,
  unfixedOrder,
  unfixedPosition,
} from '../unfixed/list-store.ts';
import { noteMitigation } from '../unfixed/note-mitigation.ts';
import { readPass } from '../unfixed/pass-store.ts';
import { unfixedItems } from '../unfixed/unfixed-view.ts';
import { type CliWorld, declareCommand } from './command.ts';
import { CommandFault, type Installation, withInstallation } from './open-installation.ts';
import { tableOf } from './show-list.ts';

const PAGE = 200;
/** Items that one call prints. */
const LISTED_MAX = 10_000;

const OPTIONS = {
  exploited: choice(['true', 'false', 'unknown'], 'whether it is known to be exploited'),
  search: text('TEXT', 'part of its name or package'),
  hook: text('HOOK', 'the hook of the hosts that keeps it from harm'),
  note: text('TEXT', 'what it does'),
  'take-back': flag('remove the note'),
  'dry-run': flag('say what would change, and change nothing'),
  json: flag('the result as JSON'),
};

export const unfixedCommand = declareCommand({
  name: 'unfixed',
  summary: 'known vulnerabilities that no pending update fixes: list, mitigate',
  calls: [
    { act: 'list', takes: ['exploited', 'search', 'json'] },
    {
      ...{ act: 'mitigate', operands: ['VULNERABILITY', 'DISTRIBUTION', 'PACKAGE'] },
      ...{ needs: ['hook', 'note'], takes: ['dry-run', 'json'] },
    },
    {
      ...{ act: 'mitigate', operands: ['VULNERABILITY', 'DISTRIBUTION', 'PACKAGE'] },
      ...{ needs: ['take-back'], takes: ['dry-run', 'json'] },
    },
  ],
  options: OPTIONS,
  about: `  list       what is installed and vulnerable, and no pending update is judged to fix; known exploited ones first, then the most
             severe, then those of most hosts
  mitigate   notes the hook of the hosts that keeps a vulnerability from harm, or takes the note back

DISTRIBUTION is as in the list, such as Debian:12 or npm. A note is for people: nothing runs, and nothing is approved or
counted otherwise because of it. Each is an event.
Both work on the data directory (SERVICE_DATA_DIR, SERVICE_DATABASE_URL); a running server does the counting.`,
  async run(args, world) {
    const { values, positionals } = readArgs(args, OPTIONS);
    const { exploited, search: q, json = false, hook, note, 'dry-run': isDry = false } = values;
    const takesBack = values['take-back'] === true;
    const [act, ...words] = positionals;
    if (act === 'list') {
      if (words.length > 0) throw new UsageError(`unknown words: ${words.join(' ')}`);
      if (hook !== undefined || note !== undefined || takesBack || isDry)
        throw new UsageError('--hook, --note, --take-back and --dry-run work only with mitigate');
      if (exploited !== undefined && !Check(UnfixedFilter.exploited, exploited))
        throw new UsageError('--exploited is one of: true, false, unknown');
      return withInstallation(world, (it) => list(it, world, { asked: { scope: null, exploited, q }, json }));
    }
    if (act !== 'mitigate') throw new UsageError('unfixed needs one of: list, mitigate');
    const [vulnerability, distribution, name, ...more] = words;
    if (vulnerability === undefined || distribution === undefined || name === undefined || more.length > 0)
      throw new UsageError('mitigate needs VULNERABILITY DISTRIBUTION PACKAGE');
    if (exploited !== undefined || q !== undefined || json)
      throw new UsageError('--exploited, --search and --json work only with list');
    const mitigation = takesBack ? null : { hook, note };
    if (takesBack ? hook !== undefined || note !== undefined : hook === undefined || note === undefined)
      throw new UsageError('mitigate needs --hook HOOK and --note TEXT, or --take-back');
    return withInstallation(world, (it) =>
      mitigate(it, world, { named: { vulnerability, distribution, name }, mitigation, isDry }),
    );
  },
});

async function list(
  { platform }: Installation,
  world: CliWorld,
  { asked, json }: { asked: Omit<UnfixedSelection, 'kev'>; json: boolean },
): Promise<ExitCode> {
  const db = platform.database.read;
  const order = unfixedOrder(UNFIXED_SORT_DEFAULT);
  const kev = await readKevList(db, platform.now());
  const selection = { ...asked, kev };
  const unfixed: UnfixedItem[] = [];
  let page: Awaited<ReturnType<typeof listUnfixed>>;
  let after = null;
  do {
    page = await listUnfixed(db, { selection, order, limit: PAGE, after });
    unfixed.push(...(await unfixedItems(db, page, { scope: null, kev, nowMs: platform.now() })));
    const last = page.at(-1);
    after = last ? unfixedPosition(UNFIXED_SORT_DEFAULT, last) : null;
  } while (page.length === PAGE && unfixed.length < LISTED_MAX);
  const { endedAtMs, leftOut } = await readPass(db);
  const { hosts, unknown } = await coverageOf(db, null);
  const at = endedAtMs === null ? null : rfc3339(endedAtMs);
  const isMore = page.length === PAGE;
  const exploited_list = kevListView(kev);
  if (json) {
    const coverage = { at, hosts, unknown_hosts: unknown, left_out: leftOut, exploited_list };
    world.out(JSON.stringify({ items: unfixed, more: isMore, coverage }, null, 2));
    return EXIT.ok;
  }
  world.out(tableOf(world, UNFIXED, unfixed));
  if (isMore) world.out(`There are more: these are the first ${LISTED_MAX}.`);
  world.out(
    at === null
      ? 'Nothing has been counted yet: a running server does that.'
      : `Counted at ${at} on ${hosts} hosts. ${unknown} of them may have more: packages that nobody could judge, or no complete report.`,
  );
  if (leftOut > 0) world.out(`${leftOut} vulnerabilities are beyond the limit of the list.`);
  const unknownExploited = exploitedListText(exploited_list);
  if (unknownExploited !== null) world.out(unknownExploited);
  return EXIT.ok;
}

async function mitigate(
  { platform }: Installation,
  world: CliWorld,
  asked: {
    named: { vulnerability: string; distribution: string; name: string };
    mitigation: { hook: string | undefined; note: string | undefined } | null;
    isDry: boolean;
  },
): Promise<ExitCode> {
  const { named, isDry } = asked;
  const mitigation = asked.mitigation;
  if (mitigation !== null && !Check(MitigationRequest, mitigation))
    throw new CommandFault('the hook needs the name of a file in hooks.d, and the note 1 to 1000 characters');
  const { database } = platform;
  const row = await findByName(database.read, named);
  if (!row || row.gone_at !== null) {
    const { vulnerability, distribution, name } = named;
    throw new CommandFault(`${vulnerability} of ${name} in ${distribution} is not in the list`);
  }
  const what = mitigation ? `that ${mitigation.hook} mitigates` : 'no mitigation of';
  const about = `${row.vulnerability} in ${row.package} (${row.distribution})`;
  if (!isDry)
    await database.transact((tx) => noteMitigation(tx, platform, { id: row.id, mitigation, actor: 'cli' }));
  world.out(`${isDry ? 'Would note' : 'Noted'} ${what} ${about}, on ${row.hosts} hosts.`);
  return EXIT.ok;
}
