import { DatabaseSync, type StatementSync } from 'node:sqlite';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import {
  type Database,
  DatabaseFault,
  type HotParameter,
  type HotRow,
  type HotSql,
  type SqlValue,
} from './engine.ts';
import type { Tables } from './tables.ts';

/** Statements kept prepared for each connection. */
const STATEMENT_CACHE = 500;

/** Opens SQLite in WAL with synchronous=FULL: one connection writes, one that cannot write serves the reads. */
export function openSqlite(file: string): Database {
  const writer = openConnection(file);
  writer.exec('PRAGMA journal_mode = WAL');
  // A power cut that rolls back an acknowledged renewal would cost an agent its family.
  writer.exec('PRAGMA synchronous = FULL');
  writer.exec('PRAGMA foreign_keys = ON');
  writer.exec('PRAGMA wal_autocheckpoint = 1000');
  const reader = openConnection(file);
  reader.exec('PRAGMA query_only = ON');
  reader.exec('PRAGMA cache_size = -65536');
  reader.exec('PRAGMA mmap_size = 268435456');
  const queue = createQueue();
  const writes = kyselyOn(writer, queue);
  const read = kyselyOn(reader, null);
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
    transact: (work) => writes.transaction().execute(work).catch(rethrowWrite),
    prepareRead({ sqlite }: HotSql) {
      const statement = reader.prepare(sqlite);
      statement.setReturnArrays(true);
      return async (parameters) => rows(statement, parameters);
    },
    prepareWrite({ sqlite }: HotSql) {
      const statement = writer.prepare(sqlite);
      return async (parameters) => {
        const release = await queue();
        try {
          statement.run(...parameters.map(bound));
        } catch (error) {
          rethrowWrite(error);
        } finally {
          release();
        }
      };
    },
    async close() {
      await writes.destroy();
      await read.destroy();
    },
  };
}

function openConnection(file: string): DatabaseSync {
  return new DatabaseSync(file, { timeout: 5_000, enableForeignKeyConstraints: true });
}

function kyselyOn(connection: DatabaseSync, queue: (() => Promise<() => void>) | null): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => createDriver(connection, queue),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
}

function createDriver(database: DatabaseSync, queue: (() => Promise<() => void>) | null): Driver {
  const connection = createConnection(database);
  let release: (() => void) | null = null;
  return {
    async init() {},
    async acquireConnection() {
      if (queue) release = await queue();
      return connection;
    },
    async beginTransaction(c) {
      await c.executeQuery(CompiledQuery.raw('BEGIN IMMEDIATE'));
    },
    async commitTransaction(c) {
      await c.executeQuery(CompiledQuery.raw('COMMIT'));
    },
    async rollbackTransaction(c) {
      // A failed COMMIT (disk full) may have ended the transaction already.
      if (database.isTransaction) await c.executeQuery(CompiledQuery.raw('ROLLBACK'));
    },
    async releaseConnection() {
      const done = release;
      release = null;
      done?.();
    },
    async destroy() {
      database.close();
    },
  };
}

function createConnection(database: DatabaseSync): DatabaseConnection {
  const cache = new Map<string, StatementSync>();
  function prepare(text: string): StatementSync {
    let statement = cache.get(text);
    if (!statement) {
      statement = database.prepare(text);
      if (cache.size >= STATEMENT_CACHE) cache.clear();
      cache.set(text, statement);
    }
    return statement;
  }
  return {
    async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
      try {
        const statement = prepare(query.sql);
        const parameters = query.parameters.map(toSql);
        if (statement.columns().length > 0) {
          // The row type is the statement's, which Kysely derived from Tables.
          return { rows: statement.all(...parameters) as R[] };
        }
        const { changes } = statement.run(...parameters);
        return { rows: [], numAffectedRows: BigInt(changes) };
      } catch (error) {
        throw mapFault(error);
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
    // setReturnArrays makes each row an array, which the types of node:sqlite do not know.
    return statement.all(...parameters.map(bound)) as unknown as HotRow[];
  } catch (error) {
    throw mapFault(error);
  }
}

function bound(parameter: HotParameter): SqlValue {
  return typeof parameter === 'object' && parameter !== null ? JSON.stringify(parameter) : parameter;
}

/** First come, first served: resolves with the function that lets the next one in. */
function createQueue(): () => Promise<() => void> {
  let tail: Promise<void> = Promise.resolve();
  return async () => {
    const before = tail;
    const { promise, resolve } = Promise.withResolvers<void>();
    tail = promise;
    await before;
    return resolve;
  };
}

/** SQLITE_BUSY, LOCKED, NOMEM, READONLY, IOERR, CORRUPT, FULL, CANTOPEN. */
const FAULTS = new Set([5, 6, 7, 8, 10, 11, 13, 14]);

function mapFault(error: unknown): unknown {
  if (error instanceof Error && 'errcode' in error && typeof error.errcode === 'number') {
    if (FAULTS.has(error.errcode & 0xff)) return new DatabaseFault(error.message, { cause: error });
  }
  return error;
}
