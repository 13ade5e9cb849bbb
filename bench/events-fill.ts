import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { sql } from 'kysely';
import { hashOfEvent } from '../apps/server/src/events/append-event.ts';
import { type EventRow, insertEvents, moveHead, readHead } from '../apps/server/src/events/store.ts';
import type { DatabasePlace } from '../apps/server/src/events/verify-worker.ts';
import type { Database, Tx } from '../apps/server/src/platform/db/engine.ts';
import { createIdMaker, systemRandom } from '../apps/server/src/platform/ids.ts';

/** Events of one transaction. */
const AT_ONCE = 5_000;
/** Indexes for lists, which are built after the rows. */
const LISTED = ['type', 'agent', 'by_actor', 'by_component', 'by_severity', 'listed'];

export const EVENT = {
  kind: 'security',
  type: 'SIGNING_KEY_ADDED',
  severity: 'info',
  component: 'approvals',
} as const;

export const contentOf = (n: number) => ({
  ...{ n, package: 'openssl', to: '3.0.17-1~deb12u3', artifacts: ['a'.repeat(64)] },
});

export interface Filling {
  database: Database;
  place: DatabasePlace;
  /** Position of the last event. */
  events: number;
  /** Whether the indexes of lists are there afterwards: a walk needs none. */
  isListed: boolean;
}

/** Fills the log beneath the use cases: ten million events take minutes in place of an hour. */
export async function fillEvents({ database, place, events, isListed }: Filling): Promise<void> {
  const indexes = isListed ? await definitionsOf(database) : [];
  await database.transact(async (tx) => {
    for (const name of LISTED) await sql.raw(`DROP INDEX events_${name}`).execute(tx);
  });
  const head = await readHead(database.read);
  const chain = chainFrom({ position: head?.position ?? 0, hash: head?.hash ?? null });
  if (place.databaseUrl === null) {
    while (chain.at().position < events)
      await database.transact(async (tx) => {
        await insertEvents(tx, chain.next(Math.min(AT_ONCE, events - chain.at().position)));
        await moveTo(tx, chain.at());
      });
  } else {
    await copyInto(place.databaseUrl, function* () {
      while (chain.at().position < events)
        yield chain
          .next(Math.min(AT_ONCE, events - chain.at().position))
          .map(lineOf)
          .join('');
    });
    await database.transact((tx) => moveTo(tx, chain.at()));
  }
  for (const index of indexes) await maintain({ database, place }, index);
}

/** Runs a statement that takes longer than the server allows one of its own. */
export async function maintain(
  { database, place }: Pick<Filling, 'database' | 'place'>,
  statement: string,
): Promise<void> {
  if (place.databaseUrl === null) await database.transact((tx) => sql.raw(statement).execute(tx));
  else await psql(place.databaseUrl, statement, function* () {});
}

interface At {
  position: number;
  hash: string | null;
}

function chainFrom(start: At) {
  const newId = createIdMaker(Date.now, systemRandom);
  let { position, hash } = start;
  return {
    at: (): At => ({ position, hash }),
    next: (count: number): EventRow[] =>
      Array.from({ length: count }, () => {
        const row = {
          ...{ position: ++position, id: newId(), ...EVENT, agent_id: null, actor: null },
          ...{ content: JSON.stringify(contentOf(position)), created_at: Date.now(), previous_hash: hash },
        };
        hash = hashOfEvent(row);
        return { ...row, hash };
      }),
  };
}

const moveTo = (tx: Tx, { position, hash }: At) => moveHead(tx, { position, hash: hash ?? '' });

async function definitionsOf(database: Database): Promise<string[]> {
  const from =
    database.engine === 'postgres'
      ? sql<{
          text: string;
        }>`SELECT indexdef AS text FROM pg_indexes WHERE tablename = 'events' AND indexname = ANY(${LISTED.map((name) => `events_${name}`)})`
      : sql<{
          text: string;
        }>`SELECT sql AS text FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'events' AND sql IS NOT NULL`;
  return (await from.execute(database.read)).rows.map(({ text }) => text);
}

const COLUMNS = [
  ...(['position', 'id', 'kind', 'type', 'severity', 'component', 'agent_id', 'actor'] as const),
  ...(['content', 'created_at', 'previous_hash', 'hash'] as const),
];

/** No value has a tab, a line feed or a backslash. */
function lineOf(row: EventRow): string {
  return `${COLUMNS.map((name) => row[name] ?? '\\N').join('\t')}\n`;
}

/** COPY takes a tenth of the time of INSERT. */
async function copyInto(databaseUrl: string, parts: () => Generator<string>): Promise<void> {
  await psql(databaseUrl, `COPY events (${COLUMNS.join(', ')}) FROM STDIN`, parts);
}

async function psql(
  databaseUrl: string,
  statement: string,
  input: () => Generator<string, void>,
): Promise<void> {
  const words = ['--quiet', '--no-psqlrc', '-v', 'ON_ERROR_STOP=1', '-c', statement, databaseUrl];
  const program = spawn('psql', words, { stdio: ['pipe', 'inherit', 'inherit'] });
  const ended = once(program, 'exit');
  for (const part of input()) if (!program.stdin.write(part)) await once(program.stdin, 'drain');
  program.stdin.end();
  const [status] = await ended;
  if (status !== 0) throw new Error(`psql ended with status ${status}`);
}
