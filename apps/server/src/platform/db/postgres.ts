import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  PostgresDialect,
  type PostgresPool,
  sql,
  type TransactionSettings,
} from 'kysely';
import { Pool, types } from 'pg';
import { gather } from '../gather.ts';
import type { QueryWatch } from '../slow-log.ts';
import {
  type Database,
  DatabaseFault,
  type DatabaseOptions,
  type HotParameter,
  type HotRow,
  type HotRun,
  type HotRunEach,
  type HotSql,
  type Tx,
} from './engine.ts';
import { measure } from './measure.ts';
import { runWork } from './run-work.ts';
import type { Tables } from './tables.ts';
import { emptyContext } from './write-context.ts';

const INT8_OID = 20;
/** Attempts of a transaction that loses a deadlock or a serialization race. */
const ATTEMPTS = 4;

/**
 * Settings of each connection, whatever the server's defaults are: durable commits, and a planner for many short
 * queries. Compiling a plan takes longer than running a list query, parallel workers slow down other queries, and on
 * today's disks random reads do not cost four times as much as sequential ones.
 */
const SETTINGS = {
  timezone: 'UTC',
  synchronous_commit: 'on',
  jit: 'off',
  max_parallel_workers_per_gather: '0',
  random_page_cost: '1.1',
};
const TIMEOUTS = { statement_timeout: 30_000, idle_in_transaction_session_timeout: 60_000 };
const STARTUP = Object.entries(SETTINGS)
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(' ');
/** A pooler gives each transaction another connection, which knows nothing of the last: it begins with its settings. */
const SET_LOCAL = Object.entries({ ...SETTINGS, ...TIMEOUTS })
  .map(([name, value]) => `SET LOCAL ${name} = '${value}'`)
  .join('; ');

/** Connections of each kind. A kind never waits for connections of another. */
export interface Connections {
  /** Transactions: they keep their connection while they wait for row locks. */
  transactions: number;
  /** Reads of requests and of background work. */
  reads: number;
  /** Prepared statements: callers, and when hosts were last seen. */
  prepared: number;
}

const CONNECTIONS: Connections = { transactions: 6, reads: 4, prepared: 2 };
/** How long the step after commits waits for another server that has the same lock: the acts wait for it. */
const AFTER_COMMIT_WAIT = '2s';

/** Opens PostgreSQL with a pool for each kind, so transactions that wait for one another never delay a check-in. */
export function openPostgres(
  url: string,
  options: DatabaseOptions & { connections?: Connections; onError?: (e: Error) => void },
): Database {
  const { transactions, reads, prepared } = options.connections ?? CONNECTIONS;
  const { watch = null } = options;
  const isPooled = isBehindPooler(url);
  const pool = openPool(url, { ...options, max: prepared });
  const pools = {
    prepared: pool,
    reads: openPool(url, { ...options, max: reads }),
    transactions: openPool(url, { ...options, max: transactions }),
    // It never waits behind the transactions that wait for it.
    after: openPool(url, { ...options, max: 1 }),
  };
  const { seals, afterCommit, beforeCommit } = options;
  const plainReader = kyselyOn(pools.reads, { watch, isPooled });
  const reader = Object.assign(plainReader, { seals, ...hotOn(plainReader) });
  const writer = kyselyOn(pools.transactions, { watch, isPooled });
  const afterWriter = kyselyOn(pools.after, { watch, isPooled });
  const waitForStep = gather<() => void>({
    most: Number.POSITIVE_INFINITY,
    inFlightMax: 1,
    async run(committed) {
      await stepAfterCommits().catch(() => {}); // what it missed waits for the next one
      for (const goOn of committed) goOn();
    },
  });

  async function stepAfterCommits(): Promise<void> {
    let hasMore = afterCommit !== undefined;
    while (hasMore) {
      hasMore = await afterWriter.transaction().execute(async (transaction) => {
        await sql.raw(`SET LOCAL lock_timeout = '${AFTER_COMMIT_WAIT}'`).execute(transaction);
        const tx: Tx = Object.assign(transaction, { seals, ...hotOn(transaction), context: emptyContext() });
        return (await afterCommit?.(tx)) ?? false;
      });
    }
  }
  let faults = 0;
  let ended: Promise<unknown> | null = null;
  const run = preparedOn(pool, { watch, isPooled });
  function rethrowWrite(error: unknown): never {
    const fault = mapFault(error);
    if (fault instanceof DatabaseFault) faults++;
    throw fault;
  }
  return {
    engine: 'postgres',
    read: reader,
    writeFaults: () => faults,
    pools: () =>
      Object.entries(pools).map(([name, one]) => ({
        ...{ pool: name, max: one.options.max, open: one.totalCount },
        ...{ idle: one.idleCount, waiting: one.waitingCount },
      })),
    async transact(work) {
      for (let attempt = 1; ; attempt++) {
        try {
          const { result, context } = await writer
            .transaction()
            .setIsolationLevel('read committed')
            .execute((transaction) =>
              runWork(transaction, { seals, beforeCommit, ...hotOn(transaction) }, work),
            );
          if (context.hasKeptEvents) await new Promise<void>(waitForStep);
          return result;
        } catch (error) {
          if (attempt < ATTEMPTS && lostRace(error)) continue;
          rethrowWrite(error);
        }
      }
    },
    prepareRead: (sql) => (parameters) => run(sql, parameters),
    prepareWrite: (sql) => async (parameters) => {
      await run(sql, parameters).catch(rethrowWrite);
    },
    async close() {
      // A pool ends once; later calls wait for the same end.
      ended ??= Promise.all([reader.destroy(), writer.destroy(), afterWriter.destroy(), pool.end()]);
      await ended;
    },
  };
}

/** Opens prepared reads alone, of a database that another process writes. */
export function openPostgresReads(
  url: string,
  options: { onError: (error: Error) => void },
): Pick<Database, 'engine' | 'prepareRead' | 'close'> {
  const pool = openPool(url, { ...options, max: CONNECTIONS.prepared });
  const run = preparedOn(pool, { watch: null, isPooled: isBehindPooler(url) });
  return {
    engine: 'postgres',
    prepareRead: (sql) => (parameters) => run(sql, parameters),
    close: () => pool.end(),
  };
}

function preparedOn(pool: Pool, { watch, isPooled }: Means) {
  return async ({ name, postgres }: HotSql, parameters: readonly HotParameter[]): Promise<HotRow[]> => {
    const measured = measure(watch, postgres);
    let count: number | null = null;
    try {
      const result = await pool.query<[...HotRow]>({
        // The statement that a name stands for is on one connection of the pooler, not on the next.
        name: isPooled ? undefined : name,
        text: postgres,
        values: [...parameters],
        rowMode: 'array',
      });
      count = result.rows.length;
      return result.rows;
    } catch (error) {
      throw mapFault(error);
    } finally {
      measured.end(count);
    }
  };
}

function openPool(
  connectionString: string,
  { max, onError }: { max: number; onError?: (e: Error) => void },
): Pool {
  const pool = new Pool({
    connectionString,
    max,
    connectionTimeoutMillis: 5_000,
    ...(isBehindPooler(connectionString) ? {} : { ...TIMEOUTS, options: STARTUP }),
    types: { getTypeParser: (oid, format) => (oid === INT8_OID ? Number : types.getTypeParser(oid, format)) },
  });
  // A broken connection must not end the process. A transaction on it fails at its next statement; later queries open
  // another connection.
  pool.on('connect', (client) => {
    client.on('error', (error) => onError?.(error));
  });
  pool.on('error', () => {}); // an idle connection: the handler above has reported it
  return pool;
}

/** Whether the URL says that its connections are given out for one transaction each. */
export function isBehindPooler(url: string): boolean {
  return new URL(url).searchParams.get('pgbouncer') === 'true';
}

interface Means {
  watch: QueryWatch | null;
  isPooled: boolean;
}

function kyselyOn(pool: Pool, means: Means): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: mapped(new PostgresDialect({ pool: preparing(pool, means) }), means),
  });
}

/** The statements of the hot path that have run, by their text. */
const hotByText = new Map<string, HotSql>();

/** Statements of the hot path on a transaction, or on any connection. */
function hotOn(db: Kysely<Tables>): { run: HotRun; runEach: HotRunEach } {
  async function run(hot: HotSql, parameters: readonly unknown[]): Promise<readonly HotRow[]> {
    hotByText.set(hot.postgres, hot);
    const { rows } = await db.executeQuery<HotRow>(CompiledQuery.raw(hot.postgres, [...parameters]));
    return rows;
  }
  return {
    run,
    async runEach(hot, rows) {
      const columns = rows[0]?.map((_, column) => rows.map((row) => row[column]));
      if (columns !== undefined) await run(hot, columns);
    },
  };
}

/** Kysely hands over a text and values alone: here a statement of the hot path gets its name, and rows as arrays. */
function preparing(pool: Pool, { isPooled }: Means): PostgresPool {
  const connect = async () => {
    const client = await pool.connect();
    const query = (text: string, values: unknown[]) => {
      const hot = hotByText.get(text);
      if (hot === undefined) return client.query(text, values);
      // The statement that a name stands for is on one connection of the pooler, not on the next.
      return client.query({ name: isPooled ? undefined : hot.name, text, values, rowMode: 'array' });
    };
    return new Proxy(client, {
      get: (target, key) => (key === 'query' ? query : Reflect.get(target, key)),
    });
  };
  return { connect, end: () => pool.end(), options: pool.options };
}

/** serialization_failure, deadlock_detected */
const RETRIED = new Set(['40001', '40P01']);
/** read_only_sql_transaction: a standby, or the old primary after a fail-over. */
const READ_ONLY = '25006';
/** Classes: connection exception, insufficient resources, operator intervention, system error, rollback. */
const FAULT_CLASSES = new Set(['08', '53', '57', '58', '40', 'XX']);

/** Whether the database undid the transaction because of another one: nothing of it was written. */
export function lostRace(error: unknown): boolean {
  return RETRIED.has(codeOf(error));
}

function codeOf(error: unknown): string {
  if (error instanceof DatabaseFault) return codeOf(error.cause);
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function mapFault(error: unknown): unknown {
  if (error instanceof DatabaseFault) return error;
  const code = codeOf(error);
  const isFault = FAULT_CLASSES.has(code.slice(0, 2)) || code === READ_ONLY || /^E[A-Z]+$/.test(code);
  const isConnection =
    error instanceof Error && /connection|timeout exceeded when trying to connect/i.test(error.message);
  if (!isFault && !(code === '' && isConnection)) return error;
  return new DatabaseFault(error instanceof Error ? error.message : 'database fault', { cause: error });
}

/**
 * The same dialect; its connections throw a DatabaseFault when the database is unavailable, not for a wrong
 * statement.
 */
function mapped(dialect: PostgresDialect, means: Means): Dialect {
  return {
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createDriver: () => mappedDriver(dialect.createDriver(), means),
  };
}

interface MappedConnection extends DatabaseConnection {
  /** The driver's own connection, which is the only one that it accepts. */
  readonly plain: DatabaseConnection;
}

function isMapped(connection: DatabaseConnection): connection is MappedConnection {
  return 'plain' in connection;
}

function plainOf(connection: DatabaseConnection): DatabaseConnection {
  return isMapped(connection) ? connection.plain : connection;
}

function mappedDriver(driver: Driver, { watch, isPooled }: Means): Driver {
  function rethrow(error: unknown): never {
    throw mapFault(error);
  }
  return {
    init: (options) => driver.init(options),
    async acquireConnection(options) {
      const waiting = measure(watch, 'connect');
      const plain = await driver.acquireConnection(options).catch(rethrow);
      waiting.begin();
      waiting.end(null);
      const connection: MappedConnection = {
        plain,
        executeQuery: async <R>(...query: Parameters<DatabaseConnection['executeQuery']>) => {
          const measured = measure(watch, query[0].sql);
          let count: number | null = null;
          try {
            const result = await plain.executeQuery<R>(...query);
            count = result.rows.length;
            return result;
          } catch (error) {
            return rethrow(error);
          } finally {
            measured.end(count);
          }
        },
        streamQuery: (query, chunkSize, more) => plain.streamQuery(query, chunkSize, more),
      };
      return connection;
    },
    beginTransaction: (connection, settings) =>
      isPooled
        ? beginWithSettings(connection, settings)
        : driver.beginTransaction(plainOf(connection), settings),
    commitTransaction: (connection) => driver.commitTransaction(plainOf(connection)),
    rollbackTransaction: (connection) => driver.rollbackTransaction(plainOf(connection)),
    releaseConnection: (connection, options) => driver.releaseConnection(plainOf(connection), options),
    destroy: (options) => driver.destroy(options),
  };
}

async function beginWithSettings(
  connection: DatabaseConnection,
  { isolationLevel = 'read committed' }: TransactionSettings,
): Promise<void> {
  await connection.executeQuery(
    CompiledQuery.raw(`START TRANSACTION ISOLATION LEVEL ${isolationLevel}; ${SET_LOCAL}`),
  );
}
