import type { Kysely, Transaction } from 'kysely';
import type { RowSeals } from './create-row-seals.ts';
import type { Tables } from './tables.ts';
import type { WriteContext } from './write-context.ts';

/** Anything that statements run on: a transaction, or reads outside of one. */
export interface Db extends Kysely<Tables> {
  /** Seals the rows that give rights, and checks them when they are read. */
  readonly seals: RowSeals;
}
/** A write transaction and what is written with it. A function that takes this must be inside of one. */
export interface Tx extends Transaction<Tables>, Pick<Db, 'seals'> {
  readonly context: WriteContext;
}

export type SqlValue = string | number | null;

/** One statement text for each engine: `?` placeholders on SQLite, `$1` on PostgreSQL. */
export interface HotSql {
  name: string;
  sqlite: string;
  postgres: string;
}

/** A list is one parameter: JSON text for json_each on SQLite, an array for any($1::text[]) on PostgreSQL. */
export type HotParameter = SqlValue | readonly string[];

/** Values of one row in the order of the columns: an object for each would cost more than the lookup. */
export type HotRow = readonly SqlValue[];

/** A statement that is prepared once and used for the life of the process (hot path only). */
export type HotRead = (parameters: readonly HotParameter[]) => Promise<readonly HotRow[]>;
export type HotWrite = (parameters: readonly HotParameter[]) => Promise<void>;

export interface Database {
  readonly engine: 'sqlite' | 'postgres';
  /** Reads outside a transaction; SQLite refuses writes on it. */
  readonly read: Db;
  /**
   * Runs the work in one write transaction and answers after its commit is on disk. SQLite: BEGIN IMMEDIATE, one
   * writer at a time, and one commit for those of the same moment. PostgreSQL: READ COMMITTED (rows are locked by FOR UPDATE or by compare-and-swap), and a
   * transaction that lost a deadlock is run again, so the work must have no effect outside the transaction
   * and its context.
   */
  transact<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** How many writes have met a DatabaseFault since the start, for the health check to look into. */
  writeFaults(): number;
  /** Prepares a read of the hot path. */
  prepareRead(sql: HotSql): HotRead;
  /** Runs one prepared write of the hot path, alone in its transaction. */
  prepareWrite(sql: HotSql): HotWrite;
  close(): Promise<void>;
}

/** What a database of either engine is opened with. */
export interface DatabaseOptions {
  seals: RowSeals;
  /**
   * Runs in each transaction after its work. A lock that every writer takes is taken here: it is the last lock of all of
   * them, so that no two wait for each other, and it is held for the commit alone.
   */
  beforeCommit: (tx: Tx) => Promise<void>;
}

/** The database cannot be used at the moment, for reads or for writes: 503, never a decision about a credential. */
export class DatabaseFault extends Error {
  override name = 'DatabaseFault';
}
