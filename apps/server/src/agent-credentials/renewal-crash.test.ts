import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { MIGRATIONS } from '../migrations.ts';
import { migrate } from '../platform/db/migrate.ts';
import { openSqlite } from '../platform/db/sqlite.ts';
import { createAgentsApp, enrol, eventTypes, renewal } from '../testing/agents-app.ts';
import { databaseOptions } from '../testing/database-options.ts';

/** The long lane kills more often. */
const ROUNDS = process.env.TIDEGATE_LONG === '1' ? 100 : 6;
const TIMEOUT_MS = 300_000 + ROUNDS * 10_000;
/** Answers before the kill: every round takes equally long. */
const answersBefore = (round: number) => 1 + (round % 7) * 3;
const PROGRAM = join(import.meta.dirname, '../testing/renewal-loop.ts');

test(
  'I18, RT4: kill -9 between renewals loses no answered one and revokes no family',
  async () => {
    using folder = tmpDir();
    const file = join(folder.path, 'crash.db');
    let token = await prepare(file);
    let renewals = 0;
    let expected = 0;
    for (let round = 1; round <= ROUNDS; round++) {
      // Killed after this many answers, at any point of the next renewal.
      const answered = await killAfter(answersBefore(round), [file, token, 'machine-1']);
      renewals += answered.length;
      expected += answersBefore(round);
      token = answered.at(-1) ?? token;
      const database = openSqlite(file, databaseOptions());
      try {
        const it = createAgentsApp(database, { seed: `round ${round}` });
        const integrity = await sql<{ integrity_check: string }>`PRAGMA integrity_check`.execute(
          database.read,
        );
        expect(integrity.rows).toEqual([{ integrity_check: 'ok' }]);
        // The last answered token is current, or previous if the next renewal was committed: no third state.
        const answer = await renewal(it, token);
        expect(answer.status).toBe(200);
        token = answer.body.refresh_token;
        expect(await eventTypes(it)).not.toContain('REFRESH_TOKEN_REUSE');
      } finally {
        await database.close();
      }
    }
    expect(renewals).toBeGreaterThanOrEqual(expected);
  },
  TIMEOUT_MS,
);

async function prepare(file: string): Promise<string> {
  const database = openSqlite(file, databaseOptions());
  try {
    await migrate(database, { migrations: MIGRATIONS, now: Date.now });
    return (await enrol(createAgentsApp(database))).refresh_token;
  } finally {
    await database.close();
  }
}

/** Runs the loop of renewals, kills it after `lines` answers, and returns every complete answer. */
async function killAfter(lines: number, args: readonly string[]): Promise<string[]> {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let errors = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
    if (out.split('\n').length > lines) child.kill('SIGKILL');
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const signal = await new Promise((resolve) => child.on('close', (_code, by) => resolve(by)));
  if (signal !== 'SIGKILL') throw new Error(`the loop ended by itself: ${errors}`);
  return out.split('\n').slice(0, -1);
}
