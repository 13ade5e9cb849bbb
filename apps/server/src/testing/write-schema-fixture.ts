import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { sql } from 'kysely';
import { MIGRATIONS } from '../migrations.ts';
import type { Database } from '../platform/db/engine.ts';
import { migrate, SCHEMA_MIGRATIONS } from '../platform/db/migrate.ts';
import { openSqlite } from '../platform/db/sqlite.ts';
import { textOf } from '../platform/db/statement.ts';
import { tablesOf } from '../restore/table-store.ts';
import { insertTestAgent, insertTestUpdate } from './agent-rows.ts';
import { databaseOptions } from './database-options.ts';

// Writes a dump of the newest schema with some rows, for each engine: node apps/server/src/testing/write-schema-fixture.ts
// The upgrade test brings each dump up to date. Each release adds one, and none is ever written anew.

const FOLDER = join(import.meta.dirname, '..', 'fixtures');
/** Made after the rows, which are there already counted. */
const IS_GUARD = /^\s*CREATE (TRIGGER|FUNCTION)/;

const folder = tmpDir('tidegate-fixture-');
const database = openSqlite(join(folder.path, 'fixture.db'), databaseOptions());
try {
  await migrate(database, { migrations: MIGRATIONS, now: () => 1 });
  await insertRows(database);
  const rows = await dumpRows(database);
  mkdirSync(FOLDER, { recursive: true });
  for (const engine of ['sqlite', 'postgres'] as const) {
    const statements = MIGRATIONS.flatMap((migration) => migration.statements)
      .map((statement) => textOf(statement, engine))
      // The rows below are of a database that is in use: they bring what migrations put there themselves.
      .filter((text) => text !== '' && !text.startsWith('INSERT '));
    const lines = [
      SCHEMA_MIGRATIONS,
      ...statements.filter((text) => !IS_GUARD.test(text)),
      ...rows,
      ...statements.filter((text) => IS_GUARD.test(text)),
    ];
    const file = join(FOLDER, `schema-${MIGRATIONS.at(-1)?.version}.${engine}.sql`);
    writeFileSync(file, `${lines.join(';\n')};\n`);
  }
} finally {
  await database.close();
  folder.remove();
}

/** Two hosts with updates in several states, one of them deleted, and the beginning of a log. */
async function insertRows(database: Database): Promise<void> {
  const first = await insertTestAgent(database, { n: 1, group: 'web' });
  const second = await insertTestAgent(database, { n: 2, deletedAtMs: 5 });
  for (const [n, state] of ['pending', 'approved', 'installed'].entries())
    await insertTestUpdate(database, { agentId: first.agentId, n, state, expiresAtMs: 2_000 });
  await insertTestUpdate(database, { agentId: second.agentId, n: 9, state: 'pending', expiresAtMs: 2_000 });
  await database.transact(async (tx) => {
    await tx.insertInto('fleet').values({ id: 1, fleet_id: 'fleet', epoch: 1, created_at: 1 }).execute();
    const hash = 'a'.repeat(64);
    const event = { id: 'event', kind: 'security', type: 'MACHINE_BOUND', severity: 'info' } as const;
    const said = {
      component: 'agents',
      agent_id: first.agentId,
      actor: 'agent',
      content: '{}',
      created_at: 1,
    };
    await tx
      .insertInto('events')
      .values({ position: 1, ...event, ...said, previous_hash: null, hash })
      .execute();
    await tx.updateTable('events_head').set({ position: 1, hash }).execute();
  });
}

async function dumpRows(database: Database): Promise<string[]> {
  const inserts: string[] = [];
  for (const table of ['schema_migrations', ...tablesOf(MIGRATIONS)]) {
    const { rows } = await sql<Record<string, unknown>>`SELECT * FROM ${sql.table(table)}`.execute(
      database.read,
    );
    for (const row of rows) {
      const values = Object.values(row).map(literal).join(', ');
      inserts.push(`INSERT INTO ${table} (${Object.keys(row).join(', ')})\n  VALUES (${values})`);
    }
  }
  return inserts;
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value ?? 'NULL');
}
