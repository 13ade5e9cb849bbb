import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
} from 'kysely';
import { slices as ofProcess, type Slices } from '../slices.ts';
import type { QueryWatch } from '../slow-log.ts';
import {
  type Database,
  DatabaseFault,
  type DatabaseOptions,
  type HotParameter,
  type HotRead,
  type HotRow,
  type HotRun,
  type HotRunEach,
  type HotSql,
  type SqlValue,
} from './engine.ts';
import { createGroupCommit, type GroupCommit, GroupLost, type Member } from './group-commit.ts';
import { measure } from './measure.ts';
import { runWork } from './run-work.ts';
import { LiteralLimits } from './sqlite-compiler.ts';
import type { Tables } from './tables.ts';

/** Statements kept prepared for each connection. */
const STATEMENT_CACHE = 500;
/** Longest wait for another connection that writes, such as that of a command beside the server. */
const LOCK_WAIT_MS = 5_000;
const LOCK_POLL_MS = 5;

/** `lockWaitMs`: default LOCK_WAIT_MS. */
interface SqliteOptions extends DatabaseOptions {
  slices?: Slices;
  lockWaitMs?: number;
}

/** Opens SQLite in WAL with synchronous=FULL: one connection writes, a read-only one serves the reads. */
export function openSqlite(file: string, options: SqliteOptions): Database {
  const { slices = ofProcess, watch = null, lockWaitMs = LOCK_WAIT_MS } = options;
  const writer = openConnection(file);
  writer.exec('PRAGMA journal_mode = WAL');
  // A power cut that rolls back an acknowledged renewal would cost an agent its family.
  writer.exec('PRAGMA synchronous = FULL');
  writer.exec('PRAGMA foreign_keys = ON');
  writer.exec('PRAGMA wal_autocheckpoint = 1000');
  // SQLite would wait inside a statement and stop the event loop: `onceUnlocked` waits instead.
  writer.exec('PRAGMA busy_timeout = 0');
  const reader = openReader(file);
  const group = createGroupCommit({
    begin: () => onceUnlocked(() => writer.exec('BEGIN IMMEDIATE'), lockWaitMs),
    exec: (text) => writer.exec(text),
    isOpen: () => writer.isTransaction,
  });
  const writes = kyselyOn(writer, { group, slices, watch });
  const { seals, beforeCommit } = options;
  const read = Object.assign(kyselyOn(reader, { group: null, slices, watch }), {
    seals,
    run: hotOn(reader, { slices, watch }).run,
  });
  const means = { seals, beforeCommit, ...hotOn(writer, { slices, watch }) };
  let faults = 0;
  function rethrowWrite(error: unknown): never {
    const mapped = mapFault(error);
    if (mapped instanceof DatabaseFault) faults++;
    throw mapped;
  }
  return {
    engine: 'sqlite',
    read,
    writeFaults: () => faults,
    pools: () => [],
    transact: (work) =>
      writes
        .transaction()
        .execute(async (transaction) => (await runWork(transaction, means, work)).result)
        .catch(rethrowWrite),
    prepareRead: (sql) => prepareReadOn(reader, sql, watch),
    prepareWrite({ sqlite }: HotSql) {
      const statement = writer.prepare(sqlite);
      return async (parameters) => {
        const measured = measure(watch, sqlite);
        const release = await group.alone();
        measured.begin();
        try {
          await onceUnlocked(() => void statement.run(...parameters.map(bound)), lockWaitMs);
        } catch (error) {
          rethrowWrite(error);
        } finally {
          release();
          measured.end(null);
        }
      };
    },
    async close() {
      const release = await group.alone();
      await writes.destroy();
      release();
      await read.destroy();
      // Kysely closes only what it has used.
      for (const connection of [writer, reader]) if (connection.isOpen) connection.close();
    },
  };
}

/** Opens the file of another process, which writes it, for prepared reads. */
export function openSqliteReads(file: string): Pick<Database, 'engine' | 'prepareRead' | 'close'> {
  const reader = openReader(file);
  return {
    engine: 'sqlite',
    prepareRead: (sql) => prepareReadOn(reader, sql, null),
    close: async () => reader.close(),
  };
}

function openReader(file: string): DatabaseSync {
  const reader = openConnection(file);
  reader.exec('PRAGMA query_only = ON');
  reader.exec('PRAGMA cache_size = -65536');
  reader.exec('PRAGMA mmap_size = 268435456');
  return reader;
}

function prepareReadOn(reader: DatabaseSync, { sqlite }: HotSql, watch: QueryWatch | null): HotRead {
  const statement = reader.prepare(sqlite);
  statement.setReturnArrays(true);
  return async (parameters) => {
    const measured = measure(watch, sqlite);
    const found = rows(statement, parameters);
    measured.end(found.length);
    return found;
  };
}

/** Statements of the hot path on a connection. On the one that writes, the member of the group whose turn it is runs them. */
function hotOn(
  connection: DatabaseSync,
  { slices, watch }: Omit<Sharing, 'group'>,
): { run: HotRun; runEach: HotRunEach } {
  const statements = new Map<HotSql, StatementSync>();
  function prepare(hot: HotSql): StatementSync {
    const known = statements.get(hot);
    if (known !== undefined) return known;
    const statement = connection.prepare(hot.sqlite);
    statement.setReturnArrays(true);
    statements.set(hot, statement);
    return statement;
  }
  async function inTurn(
    hot: HotSql,
    work: (statement: StatementSync) => readonly HotRow[],
  ): Promise<readonly HotRow[]> {
    const measured = measure(watch, hot.sqlite);
    let found: readonly HotRow[] | null = null;
    const turn = slices.turn();
    if (turn !== null) {
      await turn;
      measured.begin();
    }
    try {
      found = work(prepare(hot));
      return found;
    } catch (error) {
      throw mapFault(error);
    } finally {
      measured.end(found?.length ?? null);
    }
  }
  return {
    run: (hot, parameters) => inTurn(hot, (statement) => rows(statement, parameters)),
    async runEach(hot, all) {
      if (all.length === 0) return;
      await inTurn(hot, (statement) => {
        for (const row of all) statement.run(...row);
        return [];
      });
    },
  };
}

function openConnection(file: string): DatabaseSync {
  return new DatabaseSync(file, { timeout: LOCK_WAIT_MS, enableForeignKeyConstraints: true });
}

/** Runs a statement that takes the lock of writers, and again while another connection has it. */
async function onceUnlocked(run: () => void, waitMs: number): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += LOCK_POLL_MS) {
    try {
      return run();
    } catch (error) {
      if (resultCodeOf(error) !== SQLITE_BUSY || waitedMs >= waitMs) throw error;
      await pause(LOCK_POLL_MS);
    }
  }
}

interface Sharing {
  /** Puts transactions in order; null for the read-only connection. */
  group: GroupCommit | null;
  slices: Slices;
  watch: QueryWatch | null;
}

function kyselyOn(connection: DatabaseSync, sharing: Sharing): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new WaitingAdapter(),
      createDriver: () => createDriver(connection, sharing),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new LiteralLimits(),
    },
  });
}

/** Lets Kysely start a transaction while another waits for its commit: the group puts them in order. */
class WaitingAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

/** The connection of one transaction, which may wait for its commit while the next one runs. */
interface MemberConnection extends DatabaseConnection {
  readonly member: Member;
}

function isMember(connection: DatabaseConnection): connection is MemberConnection {
  return 'member' in connection;
}

function memberOf(connection: DatabaseConnection): Member {
  if (isMember(connection)) return connection.member;
  throw new Error('transactions run on the connection that writes');
}

function createDriver(database: DatabaseSync, { group, slices, watch }: Sharing): Driver {
  const shared = createConnection(database, { slices, watch });
  return {
    async init() {},
    async acquireConnection() {
      if (!group) return shared;
      const measured = measure(watch, 'begin');
      const connection: MemberConnection = { ...shared, member: await group.enter() };
      measured.begin();
      measured.end(null);
      return connection;
    },
    async beginTransaction(connection) {
      await memberOf(connection).begin();
    },
    async commitTransaction(connection) {
      const measured = measure(watch, 'commit');
      const turn = slices.turn();
      if (turn !== null) await turn;
      measured.begin();
      try {
        await memberOf(connection).commit();
      } finally {
        measured.end(null);
      }
    },
    async rollbackTransaction(connection) {
      memberOf(connection).rollback();
    },
    async releaseConnection(connection) {
      if (isMember(connection)) connection.member.leave();
    },
    async destroy() {
      database.close();
    },
  };
}

interface Prepared {
  statement: StatementSync;
  hasRows: boolean;
}

function createConnection(
  database: DatabaseSync,
  { slices, watch }: Omit<Sharing, 'group'>,
): DatabaseConnection {
  const cache = new Map<string, Prepared>();
  function prepare(text: string): Prepared {
    let prepared = cache.get(text);
    if (!prepared) {
      const statement = database.prepare(text);
      prepared = { statement, hasRows: statement.columns().length > 0 };
      if (cache.size >= STATEMENT_CACHE) cache.clear();
      cache.set(text, prepared);
    }
    return prepared;
  }
  return {
    async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
      const measured = measure(watch, query.sql);
      let count: number | null = null;
      const turn = slices.turn();
      if (turn !== null) {
        await turn;
        measured.begin();
      }
      try {
        const { statement, hasRows } = prepare(query.sql);
        const parameters = query.parameters.map(toSql);
        if (hasRows) {
          // Kysely derived the row type of the statement from Tables.
          const found = statement.all(...parameters) as R[];
          count = found.length;
          return { rows: found };
        }
        const { changes } = statement.run(...parameters);
        return { rows: [], numAffectedRows: BigInt(changes) };
      } catch (error) {
        throw mapFault(error);
      } finally {
        measured.end(count);
      }
    },
    streamQuery() {
      throw new Error('streaming is not used');
    },
  };
}

function toSql(value: unknown): SqlValue {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  throw new TypeError(`a ${typeof value} cannot be a parameter: columns hold text, numbers and null`);
}

function rows(statement: StatementSync, parameters: readonly HotParameter[]): HotRow[] {
  try {
    // setReturnArrays makes each row an array; the types of node:sqlite do not reflect that.
    return statement.all(...parameters.map(bound)) as unknown as HotRow[];
  } catch (error) {
    throw mapFault(error);
  }
}

function bound(parameter: HotParameter): SqlValue {
  return typeof parameter === 'object' && parameter !== null ? JSON.stringify(parameter) : parameter;
}

const SQLITE_BUSY = 5;
/** SQLITE_BUSY, LOCKED, NOMEM, READONLY, IOERR, CORRUPT, FULL, CANTOPEN. */
const FAULTS = new Set([5, 6, 7, 8, 10, 11, 13, 14]);

function mapFault(error: unknown): unknown {
  if (error instanceof GroupLost) return new DatabaseFault(error.message, { cause: error });
  const code = resultCodeOf(error);
  return error instanceof Error && code !== null && FAULTS.has(code)
    ? new DatabaseFault(error.message, { cause: error })
    : error;
}

/** The primary result code of SQLite; null for other errors. */
function resultCodeOf(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error)) return null;
  return typeof error.errcode === 'number' ? error.errcode & 0xff : null;
}
