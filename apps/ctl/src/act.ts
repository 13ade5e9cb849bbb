import type { Api } from '@tidegate/client/api';
import type { Asked as AskedOf, Client, ItemOf, ListName } from '@tidegate/client/client';
import type { Fault, OperationName } from '@tidegate/client/outcome';
import { REQUESTS } from '@tidegate/client/requests';
import { flag, type Options, text } from '@tidegate/command-line/declare';
import { EXIT, type ExitCode } from '@tidegate/terminal/read-args';
import { showRecord } from '@tidegate/terminal/show-record';
import { type Columns, rowsOf, showTable } from '@tidegate/terminal/show-table';
import { faultText } from './fault-text.ts';
import { isAsked } from './is-asked.ts';
import { type Member, membersOf } from './members.ts';
import { optionsOf } from './option-words.ts';
import type { Request } from './read-request.ts';
import type { Declared, Words } from './words.ts';
import type { World } from './world.ts';

/** Items that a list shows unless it is told a number, or --all. */
export const SHOWN = 50;
/** Most items that --all gathers. */
export const ALL_MAX = 10_000;

/** How the engine runs an operation, and what it says then. */
export interface Act extends Declared {
  run(asked: Asked, request: Request): Promise<ExitCode>;
}

export interface Asked {
  readonly client: Client;
  readonly world: World;
  readonly isJson: boolean;
  readonly isCsv: boolean;
  /** Items to show of a list. */
  readonly itemsMax: number;
  /** Where the server and the token come from, for messages. */
  readonly from: { readonly server: string; readonly tokenFile: string | null };
}

const JSON_OPTION = { json: flag("the server's answer as JSON") };
const LIST_OPTIONS = {
  limit: text('N', `how many to show (${SHOWN})`),
  all: flag(`all of them, at most ${ALL_MAX}`),
  csv: flag('every row as CSV, with all columns; with --limit one page'),
  cursor: text('TEXT', 'go on after a page: next_cursor of its JSON'),
};

/** A list, page by page. */
export function list<K extends ListName>(
  operation: K,
  words: Words & { readonly columns: Columns<ItemOf<K>>; readonly none?: string },
): Act {
  return actOf(operation, words, LIST_OPTIONS, async (asked, request) => {
    const { client, world, isJson, isCsv, itemsMax } = asked;
    if (!isAsked(operation, request)) return refuseWrong(world);
    if (isCsv) return saved(operation, request, { asked, accept: 'text/csv' });
    const found = await client.list(operation, request, { itemsMax });
    if (!found.ok) return refuse(found.fault, asked);
    if (isJson) {
      world.out(JSON.stringify(found.answer, null, 2));
      return EXIT.ok;
    }
    world.out(showTable(rowsOf(words.columns, found.items), widthOf(world)));
    if (!found.isWhole)
      world.err(`These are ${found.items.length}${totalOf(found.answer)}; --all shows more.`);
    return EXIT.ok;
  });
}

/** One answer with several members; `first` are lines before them. */
export function show<K extends OperationName>(
  operation: K,
  words: Words & { readonly first?: (answer: Api[K]['answer']) => readonly string[] },
): Act {
  const { first = () => [] } = words;
  return answered(operation, words, (answer) => [...first(answer), showRecord(answer)].join('\n'));
}

/** A list that has no pages. */
export function table<K extends OperationName, T>(
  operation: K,
  words: Words & { readonly items: (answer: Api[K]['answer']) => readonly T[]; readonly columns: Columns<T> },
): Act {
  return answered(operation, words, (answer, { width }) =>
    showTable(rowsOf(words.columns, words.items(answer)), { width }),
  );
}

/** A change, and the sentence that says what it did. */
export function change<K extends OperationName>(
  operation: K,
  words: Words & { readonly says: string | ((answer: Api[K]['answer'], shown: Shown) => string) },
): Act {
  const { says } = words;
  return answered(operation, words, (answer, shown) =>
    typeof says === 'string' ? says : says(answer, shown),
  );
}

/** The width of the terminal, and how a note beside the result is given. */
export interface Shown {
  readonly width: number;
  /** Goes to the error output, so that the result stays alone on the other. */
  note(text: string): void;
}

function answered<K extends OperationName>(
  operation: K,
  words: Words,
  text: (answer: Api[K]['answer'], shown: Shown) => string,
): Act {
  return actOf(operation, words, {}, async (asked, request) => {
    const { client, world, isJson } = asked;
    if (!isAsked(operation, request)) return refuseWrong(world);
    const outcome = await client.call(operation, request);
    if (!outcome.ok) return refuse(outcome.fault, asked);
    const shown = { ...widthOf(world), note: world.err };
    if (isJson && outcome.body !== null) world.out(JSON.stringify(outcome.body, null, 2));
    else if (!isJson) world.out(text(outcome.body, shown));
    return EXIT.ok;
  });
}

/** An answer that is a file; `accept` is its media type, or says it for a request. */
export function file<K extends OperationName>(
  operation: K,
  words: Words & { readonly accept: string | ((request: Request) => string) },
): Act {
  const { accept } = words;
  return actOf(operation, words, {}, async (asked, request) => {
    const { world, isJson } = asked;
    if (!isAsked(operation, request)) return refuseWrong(world);
    if (isJson || world.columns !== null) {
      world.err(
        isJson ? 'The answer is a file, and no JSON.' : 'The answer is a file: send it to one with >.',
      );
      return EXIT.failed;
    }
    return saved(operation, request, {
      asked,
      accept: typeof accept === 'string' ? accept : accept(request),
    });
  });
}

/** The answer in another form, on the output as it arrives. */
async function saved<K extends OperationName>(
  operation: K,
  request: AskedOf<K>,
  { asked, accept }: { asked: Asked; accept: string },
): Promise<ExitCode> {
  const taken = await asked.client.file(operation, request, { accept, take: asked.world.write });
  return taken.ok ? EXIT.ok : refuse(taken.fault, asked);
}

function actOf(operation: OperationName, words: Words, extra: Options, run: Act['run']): Act {
  const members = membersOf(REQUESTS[operation], words);
  const named = words.operands ?? members.filter(({ place }) => place === 'path').map(({ name }) => name);
  const operands = named.map((name) => {
    const found = members.find((member) => member.name === name);
    if (!found) throw new Error(`${operation} takes no ${name}`);
    return found;
  });
  const rest = members.filter((member) => !operands.includes(member));
  const options = Object.assign({}, ...rest.map((member) => optionsOf(member, words.about ?? {})));
  // A file may have what no option has.
  const isFromFile = words.fileIs === undefined && rest.some(({ kind }) => kind === 'file');
  const needs = rest
    .filter(
      ({ isNeeded, isNullable, kind, place }) =>
        isNeeded &&
        !isNullable &&
        kind !== 'hosts_of' &&
        !(isFromFile && place === 'body' && kind !== 'file'),
    )
    .flatMap((member) => Object.keys(optionsOf(member, {})))
    .filter((name) => !(name in (words.defaults?.(0) ?? {})));
  const known: Options = { ...options, ...extra, ...JSON_OPTION };
  const call = {
    ...(words.act === '' ? {} : { act: words.act }),
    operands: operands.map((member) => operandWord(member, words)),
    needs: [...new Set(needs)],
    takes: Object.keys(known).filter((name) => !needs.includes(name)),
    options: known,
  };
  return { operation, words, members, operands, call, run };
}

function operandWord(member: Member, { called = {}, byName }: Words): string {
  const { kind, name } = member;
  const many = kind === 'many' || kind === 'hosts' ? ' ...' : '';
  const word =
    called[name] ?? (member.at[0] === 'id' && byName ? 'NAME' : name.toUpperCase().replaceAll('-', '_'));
  return `${word}${many}`;
}

function refuse(fault: Fault<OperationName>, { world, isJson, from }: Asked): ExitCode {
  if (isJson && 'problem' in fault) world.out(JSON.stringify(fault.problem, null, 2));
  for (const line of faultText(fault, { ...from, isJson })) world.err(line);
  return EXIT.failed;
}

/** The request was checked before: this says that the two checks differ. */
function refuseWrong(world: World): ExitCode {
  world.err('The request does not fit the API. This is a fault of tidegatectl.');
  return EXIT.failed;
}

function totalOf(answer: unknown): string {
  if (answer === null || typeof answer !== 'object' || !('total' in answer)) return '';
  const isCapped = 'total_is_capped' in answer;
  return ` of ${isCapped ? 'more than ' : ''}${answer.total}`;
}

function widthOf({ columns }: World): { width: number } {
  return { width: columns ?? Number.POSITIVE_INFINITY };
}
