import type { Kysely, Transaction } from 'kysely';
import type { QueryWatch } from '../slow-log.ts';
import type { RowSeals } from './create-row-seals.ts';
import type { Tables } from './tables.ts';
import type { WriteContext } from './write-context.ts';

/** What statements run on: a transaction, or reads outside one. */
export interface Db extends Kysely<Tables> {
  /** Seals the rows that give rights, and checks them when they are read. */
  readonly seals: RowSeals;
  /** Runs a statement of the hot path, which its connection prepares once: building it anew costs more than running it. */
  readonly run: HotRun;
}

/** A write transaction and what is written with it. */
export interface Tx extends Transaction<Tables>, Pick<Db, 'seals' | 'run'> {
  readonly context: WriteContext;
  /** Runs a write of the hot path for each of some rows: one after the other on SQLite, as one statement on PostgreSQL. */
  readonly runEach: HotRunEach;
}

export type SqlValue = string | number | null;

/** One statement text for each engine: `?` placeholders on SQLite, `$1` on PostgreSQL. */
export interface HotSql {
  name: string;
  sqlite: string;
  postgres: string;
}

/** A list is one parameter: JSON for json_each on SQLite, an array for any($1::text[]) on PostgreSQL. */
export type HotParameter = SqlValue | readonly string[] | readonly number[];

/** The values of one row in column order: an object per row would cost more than the lookup. */
export type HotRow = readonly SqlValue[];

export type HotRun = (sql: HotSql, parameters: readonly HotParameter[]) => Promise<readonly HotRow[]>;
/** SQLite gets the values of one row, PostgreSQL an array of each column for unnest($1::int[], …). */
export type HotRunEach = (sql: HotSql, rows: readonly HotRow[]) => Promise<void>;

/** A statement prepared once for the life of the process (hot path only). */
export type HotRead = (parameters: readonly HotParameter[]) => Promise<readonly HotRow[]>;
export type HotWrite = (parameters: readonly HotParameter[]) => Promise<void>;

export interface PoolUse {
  readonly pool: string;
  readonly max: number;
  readonly open: number;
  readonly idle: number;
  /** Callers without a connection. */
  readonly waiting: number;
}

export interface Database {
  readonly engine: 'sqlite' | 'postgres';
  /** Reads outside a transaction; SQLite refuses writes on it. */
  readonly read: Db;
  /**
   * Runs the work in one write transaction and resolves when its commit is on disk. SQLite: BEGIN IMMEDIATE,
   * one writer at a time, and one commit for concurrent transactions. PostgreSQL: READ COMMITTED, with rows
   * locked by FOR UPDATE or by compare-and-swap; a transaction that lost a deadlock runs again, so the work has
   * no effect but its rows and its context. Do not call it inside the work: on SQLite the inner call waits for
   * the end of the outer one.
   */
  transact<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** How many writes have failed with a DatabaseFault since the start, for the health check. */
  writeFaults(): number;
  /** The pools of connections; none on SQLite. */
  pools(): readonly PoolUse[];
  /** Prepares a read of the hot path. */
  prepareRead(sql: HotSql): HotRead;
  /** Runs one prepared write of the hot path, alone in its transaction. */
  prepareWrite(sql: HotSql): HotWrite;
  close(): Promise<void>;
}

export interface CommitSteps {
  /**
   * Runs in each transaction after its work. Locks that every writer takes are taken here: as the last lock of each
   * writer they cannot deadlock, and they are held only for the commit.
   */
  beforeCommit: (tx: Tx) => Promise<void>;
  /**
   * Runs on PostgreSQL in a transaction of its own after transactions whose events were kept: one for all that committed
   * meanwhile. They wait for it and do not fail with it. Resolves with whether there is more to do.
   */
  afterCommit?: (tx: Tx) => Promise<boolean>;
}

/** What a database of either engine is opened with. */
export interface DatabaseOptions extends CommitSteps {
  seals: RowSeals;
  /** Tells of slow queries; null or absent measures nothing. */
  watch?: QueryWatch | null;
}

/** The database cannot be read or written at the moment: answered 503, never as a decision about a credential. */
export class DatabaseFault extends Error {
  override name = 'DatabaseFault';
}
