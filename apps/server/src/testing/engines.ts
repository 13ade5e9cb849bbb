import { copyFileSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { inject, onTestFinished } from 'vitest';
import { CHAINING } from '../events/chain-events.ts';
import type { Database, DatabaseOptions } from '../platform/db/engine.ts';
import { type Connections, openPostgres } from '../platform/db/postgres.ts';
import { openSqlite } from '../platform/db/sqlite.ts';
import type { Slices } from '../platform/slices.ts';
import { databaseOptions } from './database-options.ts';

/** `connections` are for PostgreSQL, `slices` for SQLite. */
interface OpenOptions extends DatabaseOptions {
  connections: Connections;
  slices: Slices;
}

export interface TestEngine {
  readonly name: 'sqlite' | 'postgres';
  /** A fresh database with every migration applied; it is removed after the test. */
  open(options?: Partial<OpenOptions>): Promise<Database>;
  /** The same without any migration. */
  openEmpty(): Promise<Database>;
  /** SERVICE_DATABASE_URL (null on SQLite) and data folder of a fresh empty database, for tests of whole processes. */
  place(): Promise<EnginePlace>;
  /** A place that stays until the run ends, for copying. */
  template(): Promise<EnginePlace>;
  /** A copy of a place without open connections. */
  copy(place: EnginePlace): Promise<EnginePlace>;
}

export interface EnginePlace {
  databaseUrl: string | null;
  dataDir: string;
}

const sqlite: TestEngine = {
  name: 'sqlite',
  async open(options) {
    const file = join(temporaryFolder(), 'test.db');
    copyFileSync(inject('sqliteTemplate'), file);
    return closing(openSqlite(file, { ...databaseOptions(), ...options }));
  },
  async openEmpty() {
    return closing(openSqlite(join(temporaryFolder(), 'test.db'), databaseOptions()));
  },
  async place() {
    return { databaseUrl: null, dataDir: temporaryFolder() };
  },
  async template() {
    return { databaseUrl: null, dataDir: templateFolder() };
  },
  async copy({ dataDir }) {
    return { databaseUrl: null, dataDir: copyOfFolder(dataDir) };
  },
};

/** Many databases at once share one server. */
const CONNECTIONS = { transactions: 8, reads: 3, prepared: 2 };

const ours = () => ({ ...databaseOptions(), ...CHAINING.postgres, connections: CONNECTIONS });

function postgres({ url, template }: { url: string; template: string }): TestEngine {
  return {
    name: 'postgres',
    async open(options) {
      return closing(openPostgres(await copyOf(url, nameOf(template)), { ...ours(), ...options }));
    },
    async openEmpty() {
      return closing(openPostgres(await copyOf(url, 'template0'), ours()));
    },
    async place() {
      return { databaseUrl: await copyOf(url, 'template0'), dataDir: temporaryFolder() };
    },
    async template() {
      return { databaseUrl: await createDatabase(url, 'template0'), dataDir: templateFolder() };
    },
    async copy({ databaseUrl, dataDir }) {
      if (databaseUrl === null) throw new Error('a place of SQLite');
      return { databaseUrl: await copyOf(url, nameOf(databaseUrl)), dataDir: copyOfFolder(dataDir) };
    },
  };
}

const shared = inject('postgres');

/** Both engines; PostgreSQL is left out if it is not installed or not selected, and the run says so once. */
export const ENGINES: readonly TestEngine[] = 'url' in shared ? [sqlite, postgres(shared)] : [sqlite];

/**
 * SQLite, and both in the long lane (TIDEGATE_LONG=1): for tables of cases and for programs that are started, whose
 * statements other tests run on both engines. PostgreSQL takes three times as long for them.
 */
export const SAMPLED_ENGINES: readonly TestEngine[] =
  process.env.TIDEGATE_LONG === '1' ? ENGINES : ENGINES.slice(0, 1);

let databases = 0;

async function copyOf(adminUrl: string, source: string): Promise<string> {
  const url = await createDatabase(adminUrl, source);
  onTestFinished(() => run(adminUrl, `DROP DATABASE IF EXISTS ${nameOf(url)} WITH (FORCE)`));
  return url;
}

async function createDatabase(adminUrl: string, source: string): Promise<string> {
  const name = `t_${process.pid}_${process.hrtime.bigint()}_${databases++}`;
  await run(adminUrl, `CREATE DATABASE ${name} TEMPLATE ${source} STRATEGY FILE_COPY`);
  return adminUrl.replace('/postgres?', `/${name}?`);
}

function nameOf(url: string): string {
  return new URL(url).pathname.slice(1);
}

/** One connection of the thread for statements on whole databases: each of its own would cost a process of the server. */
let admin: Promise<Client> | null = null;

async function run(adminUrl: string, statement: string): Promise<void> {
  admin ??= connect(adminUrl);
  await (await admin).query(statement);
}

async function connect(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString });
  await client.connect();
  return client;
}

function closing(database: Database): Database {
  onTestFinished(() => database.close());
  return database;
}

/** Beside the template that the run removes at its end. */
function templateFolder(): string {
  return mkdtempSync(join(dirname(inject('sqliteTemplate')), 'place-'));
}

function copyOfFolder(folder: string): string {
  const copy = temporaryFolder();
  cpSync(folder, copy, { recursive: true });
  return copy;
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
