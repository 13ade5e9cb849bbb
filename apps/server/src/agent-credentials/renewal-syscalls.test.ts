import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { firstOf } from '@tidegate/testkit/lanes';
import { findTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { MIGRATIONS } from '../migrations.ts';
import { migrate } from '../platform/db/migrate.ts';
import { openSqlite } from '../platform/db/sqlite.ts';
import { createAgentsApp, enrol, eventTypes, renewal } from '../testing/agents-app.ts';
import { databaseOptions } from '../testing/database-options.ts';
import { hashRefreshToken } from './refresh-tokens.ts';

const PROGRAM = join(import.meta.dirname, '../testing/renewal-server.ts');
const strace = findTool('strace');
if (strace === null) {
  process.stderr.write(
    'Tests of system calls are skipped: strace is not installed (Debian: apt install strace)\n',
  );
}
const WRITES = 'trace=pwrite64,write,writev,sendto,sendmsg,fsync,fdatasync';
/** More system calls of one kind than a renewal makes. */
const CALLS_MAX = 60;

describe.skipIf(strace === null)('the system calls of a renewal on SQLite', () => {
  test('I19: the answer is written only after the write-ahead log is on disk', async () => {
    using folder = tmpDir();
    const { file, token } = await prepare(folder.path);
    const log = join(folder.path, 'strace.log');
    const run = await renewUnder(['-f', '-yy', '-o', log, '-e', WRITES], { file, token });
    expect(run.status).toBe(200);
    const lines = readFileSync(log, 'utf8').split('\n');
    const answer = lines.findIndex((line) => /\b(write|writev|sendto|sendmsg)\(.*HTTP\/1\.1 200/.test(line));
    const written = lines.findLastIndex((line, i) => i < answer && /pwrite64\(\d+<[^>]*-wal>/.test(line));
    const synced = lines.findIndex(
      (line, i) => i > written && /\bf(data)?sync\(\d+<[^>]*-wal>\)\s+= 0/.test(line),
    );
    expect(written).toBeGreaterThan(-1);
    expect([written < synced, synced < answer]).toEqual([true, true]);
  });

  test.each(firstOf(1, ['fsync,fdatasync', 'pwrite64']))(
    'I18: killed at each %s, the token is current, or previous with its grace: no third state',
    async (calls) => {
      const states: string[] = [];
      for (let n = 1; n <= CALLS_MAX; n++) {
        using folder = tmpDir();
        const { file, token } = await prepare(folder.path);
        const requestId = randomUUID();
        const kill = ['-e', `trace=${calls}`, '-e', `inject=${calls}:signal=SIGKILL:when=${n}`];
        const run = await renewUnder(['-f', '-o', '/dev/null', ...kill], { file, token, requestId });
        states.push(await stateAfter(file, { token, requestId, answered: run.status === 200 }));
        if (run.status === 200) break;
      }
      // Every call up to the answer was killed once: before the commit the token stays, after it the grace is there.
      expect(states.at(-1)).toBe('previous');
      expect(states.slice(0, -1)).toContain('current');
      expect(states.filter((state) => state !== 'current' && state !== 'previous')).toEqual([]);
      expect(states).toEqual(states.toSorted());
    },
  );

  test.each([
    ['fsync,fdatasync', 'EIO'],
    ['pwrite64', 'EIO'],
    ['pwrite64', 'ENOSPC'],
  ])(
    'row 14: a disk whose %s ends with %s is 503, never 401, and the token works again once the disk does',
    async (calls, error) => {
      using folder = tmpDir();
      const { file, token } = await prepare(folder.path);
      const requestId = randomUUID();
      const first = (await callsOfStart(folder.path, { file, calls })) + 1;
      const fault = ['-e', `trace=${calls}`, '-e', `inject=${calls}:error=${error}:when=${first}+`];
      const run = await renewUnder(['-f', '-o', '/dev/null', ...fault], { file, token, requestId });
      expect(run.status).toBe(503);
      await stateAfter(file, { token, requestId, answered: false });
    },
  );
});

async function prepare(folder: string): Promise<{ file: string; token: string }> {
  const file = join(folder, 'renewal.db');
  const database = openSqlite(file, databaseOptions());
  try {
    await migrate(database, { migrations: MIGRATIONS, now: Date.now });
    return { file, token: (await enrol(createAgentsApp(database))).refresh_token };
  } finally {
    await database.close();
  }
}

/** How many of these calls the server makes until it listens: a disk that fails before that refuses the start. */
async function callsOfStart(
  folder: string,
  { file, calls }: { file: string; calls: string },
): Promise<number> {
  const log = join(folder, 'start.log');
  const wrong = { file, token: 'not a token' };
  expect((await renewUnder(['-f', '-o', log, '-e', `trace=${calls},write`], wrong)).status).toBe(401);
  const lines = readFileSync(log, 'utf8').split('\n');
  const listening = lines.findIndex((line) => line.includes('write(1, "url='));
  expect(listening).toBeGreaterThan(-1);
  const made = new RegExp(`\\b(${calls.replaceAll(',', '|')})\\(`);
  return lines.slice(0, listening).filter((line) => made.test(line)).length;
}

/** Runs the server under strace and renews once; no status when it died before it answered. */
async function renewUnder(
  traced: readonly string[],
  { file, token, requestId }: { file: string; token: string; requestId?: string },
): Promise<{ status: number | null }> {
  const args = [...traced, process.execPath, PROGRAM, file, randomUUID()];
  const child = spawn(strace ?? '', args, { stdio: ['pipe', 'pipe', 'ignore'] });
  child.stdin.on('error', () => {}); // it may have been killed before its input ends
  const ended = new Promise<null>((resolve) => child.once('close', () => resolve(null)));
  const url = new Promise<string>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => resolve(line.slice('url='.length)));
  });
  const answer = url.then((at) =>
    fetch(`${at}/api/v1/agents/renew`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-machine-id': 'machine-1' },
      body: JSON.stringify({ refresh_token: token, ...(requestId ? { request_id: requestId } : {}) }),
    }).then(
      ({ status }) => status,
      () => null,
    ),
  );
  const status = await Promise.race([answer, ended]);
  child.stdin.end();
  await ended;
  return { status };
}

/** The token's state in the family afterwards; a renewal with it must succeed, as current or by grace. */
async function stateAfter(
  file: string,
  { token, requestId, answered }: { token: string; requestId: string; answered: boolean },
): Promise<string> {
  const database = openSqlite(file, databaseOptions());
  try {
    const it = createAgentsApp(database, { seed: 'after' });
    const integrity = await sql<{ integrity_check: string }>`PRAGMA integrity_check`.execute(database.read);
    expect(integrity.rows).toEqual([{ integrity_check: 'ok' }]);
    const family = await database.read.selectFrom('refresh_families').selectAll().executeTakeFirstOrThrow();
    const hash = hashRefreshToken(token);
    const isPrevious = family.prev_hash === hash && family.prev_grace_used === 0 && family.cur_seq === 2;
    const state = family.cur_hash === hash ? 'current' : isPrevious ? 'previous' : 'neither';
    if (answered) expect(state).toBe('previous');
    expect((await renewal(it, token, { requestId })).status).toBe(200);
    expect(await eventTypes(it)).toEqual(
      state === 'previous' ? ['AGENT_ENROLLED', 'REFRESH_GRACE_USED'] : ['AGENT_ENROLLED'],
    );
    return state;
  } finally {
    await database.close();
  }
}
