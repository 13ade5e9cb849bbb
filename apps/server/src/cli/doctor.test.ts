import { execFileSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Clock } from '@tidegate/testkit/clock';
import { withinOneDay } from '@tidegate/testkit/one-day';
import { tmpDir } from '@tidegate/testkit/tmp';
import { sql } from 'kysely';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { EPSS_MAX_AGE_MS } from '../advisories/exploited/epss-scores.ts';
import { KEV_CONTENT_MAX_AGE_MS, KEV_MAX_AGE_MS } from '../advisories/exploited/kev-list.ts';
import { saveFetched } from '../advisories/exploited/store.ts';
import { openDatabase, SQLITE_FILE } from '../platform/db/open.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { laySignedAgents } from '../testing/agents-place.ts';
import { type CliPlace, createCliPlace, servedPlaces } from '../testing/cli-place.ts';
import { databaseOptions } from '../testing/database-options.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { VERSION } from '../version.ts';
import { judgeRoom } from './doctor-buffers.ts';
import { judgeRetention } from './doctor-retention.ts';
import { judgeClock, judgeDisk, judgeModes, judgeWorkers } from './doctor-rules.ts';

const MIB = 1024 * 1024;
const NOW = Date.UTC(2026, 10, 21, 9);

test.each([
  [99 * MIB, 'fail'],
  [100 * MIB, 'warn'],
  [1023 * MIB, 'warn'],
  [1024 * MIB, 'ok'],
])('%i bytes free are: %s', (freeBytes, level) => {
  expect(judgeDisk({ path: '/data', freeBytes }).level).toBe(level);
});

test.each([
  ['fine', {}, 'ok'],
  ['of 1970', { nowMs: 0 }, 'fail'],
  ['behind the newest event by seconds', { newestEventMs: NOW + 6_000 }, 'warn'],
  ['behind the newest event by minutes', { newestEventMs: NOW + 301_000 }, 'fail'],
  ['a moment behind the newest event', { newestEventMs: NOW + 4_000 }, 'ok'],
  ['like the database clock', { databaseMs: NOW - 4_000 }, 'ok'],
  ['seconds from the database clock', { databaseMs: NOW - 6_000 }, 'warn'],
  ['minutes from the database clock', { databaseMs: NOW + 301_000 }, 'fail'],
])('T16: a clock that is %s', (_, given, level) => {
  const facts = { nowMs: NOW, newestEventMs: null, databaseMs: null, ...given };
  expect(judgeClock(facts).level).toBe(level);
});

test('a clock that jumped is told until it is believed', () => {
  const row = { believed_at: NOW, read_at: NOW, stood_ms: 0 };
  expect([null, row].map((one) => judgeRetention(one).level)).toEqual(['ok', 'ok']);
  const year = 365 * 86_400_000;
  expect(judgeRetention({ ...row, read_at: NOW + year, stood_ms: 3_600_000 })).toEqual({
    ...{ check: 'retention', level: 'warn' },
    detail:
      'the clock has jumped from 2026-11-21T09:00:00Z to 2027-11-21T09:00:00Z: nothing newly old is removed',
    todo: 'set the clock if it is wrong; if it is right, the server believes it after 167 more hours of running',
  });
});

test('files that others can access are named, at most five', () => {
  const files = Array.from({ length: 7 }, (_, i) => ({ path: `f${i}`, isFolder: false, mode: 0o100644 }));
  expect(judgeModes(files)).toMatchObject({
    level: 'fail',
    detail: 'other users can access f0 (644), f1 (644), f2 (644), f3 (644), f4 (644) and 2 more',
  });
  expect(judgeModes([{ path: 'f', isFolder: true, mode: 0o40700 }]).level).toBe('ok');
});

type Level = 'ok' | 'warn' | 'fail';

/** Follows the real clock, because the doctor compares it with PostgreSQL's, which keeps running. */
function machineClock(): Clock {
  let aheadMs = 0;
  return {
    now: () => Date.now() + aheadMs,
    advance(stepMs) {
      aheadMs += stepMs;
    },
  };
}

async function addHosts(
  it: CliPlace,
  hosts: readonly { os: readonly [id: string, versionId: string]; ecosystem: string }[],
): Promise<void> {
  const database = openDatabase(it, databaseOptions());
  for (const [n, { os, ecosystem }] of hosts.entries()) {
    const { agentId: id } = await insertTestAgent(database, { n });
    const counts = { digest: 'd', scanned_at: 1, received_at: 1, complete: 1, package_count: 0 };
    await database.transact(async (tx) => {
      await tx
        .updateTable('agents')
        .set({ os_id: os[0], os_version_id: os[1] })
        .where('id', '=', id)
        .execute();
      await tx
        .insertInto('inventory_reports')
        .values({ agent_id: id, ecosystem, ...counts })
        .execute();
    });
  }
  await database.close();
}

const served = servedPlaces({
  newClock: machineClock,
  async prepare(it) {
    await it.run(['operators', 'add', 'olga', '--role', 'admin'], { stdin: 'a long password' });
  },
});

const agents = tmpDir();
afterAll(agents.remove);
laySignedAgents(agents.path, VERSION);

async function place(engine: TestEngine) {
  const it = await served(engine);
  // The program sets its umask; these tests cannot.
  execFileSync('chmod', ['-R', 'go-rwx', it.dataDir]);
  const levels = async (env: Record<string, string> = {}) => {
    const settings = { SERVICE_ADVISORY_SOURCE: 'mirror', SERVICE_AGENTS_DIR: agents.path };
    const ran = await it.run(['doctor', '--json'], { env: { ...settings, ...env } });
    const { ok, findings }: { ok: boolean; findings: { check: string; level: Level }[] } = JSON.parse(
      ran.out,
    );
    const bad = findings.filter(({ level }) => level !== 'ok').map(({ check, level }) => [check, level]);
    return { code: ran.code, ok, bad, checks: findings.map(({ check }) => check) };
  };
  return { ...it, levels, file: (name: string) => join(it.dataDir, name) };
}

async function execute(it: CliPlace, statement: string): Promise<void> {
  const database = openDatabase(it, databaseOptions());
  onTestFinished(() => database.close());
  await database.transact((tx) => sql.raw(statement).execute(tx));
}

test.each([
  [1, 2, 'ok'],
  [2, 2, 'ok'],
  [3, 2, 'warn'],
] as const)('%i processes on %i cores: %s', (processes, cores, level) => {
  expect(judgeWorkers({ processes, cores }).level).toBe(level);
});

describe.each(ENGINES)('tidegate doctor on $name', (engine) => {
  test('a healthy server gets only ok, running or not', async () => {
    const it = await place(engine);
    const checks = [
      'configuration',
      'listening',
      'advisory source',
      'metrics',
      'workers',
      'agent packages',
      'permissions',
      'disk space',
      'database',
      'integrity',
      'signing keys',
      'epoch file',
      'event log',
      'operators',
      'second factors',
      'row seals',
      'advisory data',
      'exploited vulnerabilities',
      'likelihood of exploitation',
      'outsiders',
      'backups',
      'retention',
      'notifications',
      'agent cache',
      'open files',
      ...(engine.name === 'postgres' ? ['shared buffers'] : []),
      'clock',
    ];
    expect(await it.levels()).toEqual({ code: 0, ok: true, bad: [], checks });
    await it.start();
    expect((await it.spawn(['doctor'])).out).toMatch(/^ok {3}configuration: every setting is valid$/m);
  });

  test('operators without a second factor are named, as a warning if the settings require one', async () => {
    const it = await place(engine);
    const of = async (who: string) =>
      (await it.run(['doctor'], { env: { SERVICE_SECOND_FACTOR: who } })).out
        .split('\n')
        .find((line) => line.includes('second factors:'));
    expect(await of('optional')).toMatch(/^ok {3}second factors: none for olga/);
    expect(await of('admins')).toMatch(/^WARN second factors: none for olga/);
  });

  test('a channel that fails or has dead letters is named, and so are messages without links', async () => {
    const it = await place(engine);
    const said = async (env: Record<string, string> = {}) =>
      (await it.run(['doctor'], { env })).out.split('\n').find((line) => line.includes(' notifications:'));
    expect(await said()).toBe('ok   notifications: no rule sends any');
    await execute(
      it,
      `INSERT INTO notification_channels (id, name, config, is_enabled, failures, paused_until, created_by, created_at,
        updated_at) VALUES ('c', 'Pager', '{}', 1, 0, 0, 'ada', 1, 1)`,
    );
    await execute(
      it,
      `INSERT INTO notification_rules (id, name, channel_id, is_enabled, conditions, mode, position, created_by,
        created_at, updated_at) VALUES ('r', 'All', 'c', 1, '{"event_types":[],"minimum_severity":"info","groups":[],
        "ecosystems":[],"exploited_only":false}', '{"kind":"at_once","batch_seconds":0}', 0, 'ada', 1, 1)`,
    );
    expect(await said()).toBe('WARN notifications: messages have no links to what they speak of');
    const url = { SERVICE_BASE_URL: 'https://tidegate.example' };
    expect(await said(url)).toBe('ok   notifications: 1 rules send them');
    await execute(it, 'UPDATE notification_channels SET failures = 4');
    expect(await said(url)).toBe('WARN notifications: the channel "Pager" failed 4 times in a row');
    await execute(
      it,
      `INSERT INTO notification_deliveries (id, channel_id, kind, state, message, events, update_ids, left_out, attempts,
        attempts_max, next_attempt_at, leased_until, created_at, ended_at)
        VALUES ('d', 'c', 'test', 'dead', '{}', 0, '[]', 0, 12, 12, 1, 0, 1, 1)`,
    );
    expect(await said(url)).toBe(
      'WARN notifications: the channel "Pager" failed 4 times in a row and has 1 message given up',
    );
    // What was not delivered stays so without a rule.
    await execute(it, 'UPDATE notification_rules SET is_enabled = 0');
    await execute(it, 'UPDATE notification_channels SET failures = 0');
    expect(await said(url)).toBe('WARN notifications: the channel "Pager" has 1 message given up');
  });

  test('outsiders who wrote most of a day’s budget are named', async () => {
    const it = await place(engine);
    await withinOneDay();
    const day = Math.floor(Date.now() / 86_400_000);
    await execute(
      it,
      `INSERT INTO outsider_usage (kind, subject, day, rows, bytes) VALUES
        ('agent_events', 'agent:loud', ${day}, 9000, 10), ('failed_logins', '192.0.2.1', ${day - 1}, 300, 1),
        ('failed_logins', '192.0.2.2', ${day}, 3, 1), ('client_errors', '*', ${day - 3}, 99999, 1)`,
    );
    expect(await it.levels()).toMatchObject({ code: 0, bad: [['outsiders', 'warn']] });
    const { out } = await it.run(['doctor'], { env: { SERVICE_ADVISORY_SOURCE: 'mirror' } });
    expect(out).toContain(
      'outsiders: agent:loud 450 % of agent_events; 192.0.2.1 60 % of failed_logins; further writes are counted and dropped',
    );
  });

  test('a fleet beyond the memory of its check-ins is told which setting to raise', async () => {
    const it = await place(engine);
    const facts = `'linux', 'debian', '12', 'amd64', '1.0.0', 1, 1, '{}', 1`;
    const rows = Array.from({ length: 8_000 }, (_, i) => `('agent-${i}', 'active', 'host-${i}', ${facts})`);
    await execute(
      it,
      `INSERT INTO agents (id, status, hostname, os_family, os_id, os_version_id, os_arch, agent_version, key_set_version,
        next_seq, inventory_digests, enrolled_at) VALUES ${rows.join(', ')}`,
    );
    const { out } = await it.run(['doctor'], { env: { SERVICE_AGENT_CACHE_MB: '1' } });
    expect(out).toMatch(/^WARN agent cache: 1 MB .* remember 6752 agents, and 8000 are enrolled: .*$/m);
    expect(out).toContain('set SERVICE_AGENT_CACHE_MB to 2 or more');
    expect((await it.run(['doctor'])).out).toMatch(/^ok {3}agent cache: 72 MB .*; 8000 are enrolled$/m);
  });

  test('a list of exploited vulnerabilities that is too old, or was never fetched, is a warning', async () => {
    const it = await place(engine);
    const lineOf = async (SERVICE_KEV_URL: string) => {
      const { out } = await it.run(['doctor'], { env: { SERVICE_KEV_URL } });
      return /^(ok {2}|WARN) exploited vulnerabilities: .*$/m.exec(out)?.[0] ?? out;
    };
    const url = 'http://127.0.0.1:9/kev.json';
    expect(await lineOf('')).toMatch(/^ok .* SERVICE_KEV_URL names no list$/);
    expect(await lineOf(url)).toMatch(/^WARN .* has not been fetched/);
    const fetched = async (nowMs: number, asOfMs = nowMs) => {
      const database = openDatabase(it, databaseOptions());
      await database.transact((tx) => saveFetched(tx, { feed: 'kev', nowMs, entries: 1, asOfMs }));
      await database.close();
    };
    await fetched(it.clock.now());
    expect(await lineOf(url)).toMatch(/^ok .* within 7 days$/);
    await fetched(it.clock.now() - KEV_MAX_AGE_MS);
    expect(await lineOf(url)).toMatch(/^WARN .* last fetched on \d{4}-/);
    await fetched(it.clock.now(), it.clock.now() - KEV_CONTENT_MAX_AGE_MS);
    expect(await lineOf(url)).toMatch(/^WARN .* released on \d{4}-/);
  });

  test('scores of how likely exploitation is that are too old, or were never fetched, are a warning', async () => {
    const it = await place(engine);
    const lineOf = async (SERVICE_EPSS_URL: string) => {
      const { out } = await it.run(['doctor'], { env: { SERVICE_EPSS_URL } });
      return /^(ok {2}|WARN) likelihood of exploitation: .*$/m.exec(out)?.[0] ?? out;
    };
    const url = 'http://127.0.0.1:9/epss.csv';
    expect(await lineOf('')).toMatch(/^ok .* SERVICE_EPSS_URL names no scores$/);
    expect(await lineOf(url)).toMatch(/^WARN .* have not been fetched/);
    const fetched = async (asOfMs: number | null) => {
      const database = openDatabase(it, databaseOptions());
      const of = { feed: 'epss', nowMs: it.clock.now(), entries: 1, asOfMs } as const;
      await database.transact((tx) => saveFetched(tx, of));
      await database.close();
    };
    await fetched(it.clock.now());
    expect(await lineOf(url)).toMatch(/^ok .* of the last 7 days$/);
    await fetched(it.clock.now() - EPSS_MAX_AGE_MS);
    expect(await lineOf(url)).toMatch(/^WARN .* are of \d{4}-\d{2}-\d{2}: only those of the last 7 days/);
    await fetched(null);
    expect(await lineOf(url)).toMatch(/^WARN .* have no date: /);
  });

  test('ecosystems of hosts that the mirror lacks are named, and systems that no database covers', async () => {
    const it = await place(engine);
    await addHosts(it, [
      { os: ['debian', '12'], ecosystem: 'apt' },
      { os: ['almalinux', '9.4'], ecosystem: 'dnf' },
      { os: ['fedora', '41'], ecosystem: 'dnf' },
    ]);
    const lineOf = async (env: Record<string, string>) => {
      const { out } = await it.run(['doctor'], { env: { SERVICE_ADVISORY_SOURCE: 'mirror', ...env } });
      return /^(ok {2}|WARN) advisory data: .*(\n {5}.*)?$/m.exec(out)?.[0] ?? out;
    };
    // The first load of the others is still to come.
    expect(await lineOf({})).toMatch(
      /^WARN advisory data: .*: fedora 41 \(no database covers it\)\n {5}approvals/,
    );
    const offline = await lineOf({ SERVICE_ADVISORY_EXPORT_URL: 'none' });
    expect(offline).toMatch(
      /: AlmaLinux:9 \(not loaded\), Debian:12 \(not loaded\), fedora 41 \(.*\n {5}run `tidegate/,
    );
    await execute(
      it,
      `INSERT INTO mirror_loads (base, load_id, started_at, heartbeat_at, phase, done, total, error, failures, retry_at)
       VALUES ('AlmaLinux', 1, 1, 1, 'downloading', 0, 0, 'status 503', 1, 1)`,
    );
    expect(await lineOf({})).toMatch(/: AlmaLinux:9 \(the last load failed\), fedora 41/);
  });

  test('a missing data folder is not created', async () => {
    const it = await createCliPlace(engine);
    const before = readdirSync(it.dataDir);
    expect((await it.run(['doctor'])).code).toBe(1);
    expect(readdirSync(it.dataDir)).toEqual(before);
    const gone = { SERVICE_DATA_DIR: join(it.dataDir, 'gone') };
    expect((await it.run(['doctor'], { env: gone })).out).toContain('gone does not exist');
    expect(readdirSync(it.dataDir)).toEqual(before);
  });

  test.each<[string, string, Level, Record<string, string>]>([
    ['a bad setting', 'configuration', 'fail', { SERVICE_PORT: 'many' }],
    ['a setting that nothing reads', 'configuration', 'warn', { SERVICE_PROT: '80' }],
    [
      'a certificate that is none',
      'certificate',
      'fail',
      { SERVICE_TLS_CERT: '-----BEGIN', SERVICE_TLS_KEY: '-----BEGIN' },
    ],
    ['no advisory source', 'advisory source', 'warn', { SERVICE_ADVISORY_SOURCE: 'off' }],
  ])('%s: %s: %s', async (_, check, level, env) => {
    const it = await place(engine);
    expect(await it.levels(env)).toMatchObject({ code: level === 'fail' ? 1 : 0, bad: [[check, level]] });
  });

  test('ACME on a server that listens on this machine only is a warning', async () => {
    const it = await place(engine);
    const acme = { SERVICE_ACME_DOMAINS: 'tidegate.example', SERVICE_ACME_TERMS_AGREED: 'true' };
    expect((await it.levels(acme)).bad).toEqual([
      ['listening', 'warn'],
      ['certificate', 'fail'],
    ]);
    expect((await it.levels({ ...acme, SERVICE_HOST: '0.0.0.0' })).bad).toEqual([['certificate', 'fail']]);
  });

  test.each<[string, string, Level, (it: Awaited<ReturnType<typeof place>>) => Promise<void> | void]>([
    [
      'a key that others may read',
      'permissions',
      'fail',
      (it) =>
        readdirSync(it.file('keys')).forEach((name) => void chmodSync(join(it.file('keys'), name), 0o644)),
    ],
    ['a data folder that others may enter', 'permissions', 'fail', (it) => chmodSync(it.dataDir, 0o755)],
    [
      'a private half that is gone',
      'signing keys',
      'fail',
      (it) => rmSync(it.file('keys'), { recursive: true }),
    ],
    [
      'a private half that is damaged',
      'signing keys',
      'fail',
      (it) =>
        readdirSync(it.file('keys')).forEach((name) => void writeFileSync(join(it.file('keys'), name), 'ab')),
    ],
    ['an epoch file that is gone', 'epoch file', 'warn', (it) => rmSync(it.file('epoch.json'))],
    [
      'an epoch file that is damaged',
      'epoch file',
      'fail',
      (it) => writeFileSync(it.file('epoch.json'), '{'),
    ],
    [
      'a database that was put back',
      'epoch file',
      'warn',
      (it) => execute(it, 'UPDATE fleet SET epoch = epoch - 1'),
    ],
    [
      'a log that was cut off',
      'event log',
      'fail',
      async (it) => {
        await it.run(['events', 'export']);
        await execute(it, 'UPDATE events_head SET position = position - 1');
        rmSync(it.file('epoch.json'));
        await it.start().then(
          ({ stop }) => stop(),
          () => {},
        );
      },
    ],
    [
      'events without their place in the log',
      'event log',
      'warn',
      (it) =>
        execute(
          it,
          `INSERT INTO unchained_events (id, kind, type, severity, component, content, created_at)
            VALUES ('x', 'system', 'client_error', 'info', 'console', '{}', 1)`,
        ),
    ],
    ['no operator', 'operators', 'warn', (it) => execute(it, 'DELETE FROM operators')],
    ['a clock that was set back', 'clock', 'fail', (it) => it.clock.advance(-3_600_000)],
    [
      'an older schema',
      'database',
      'fail',
      (it) => execute(it, 'DELETE FROM schema_migrations WHERE version > 30'),
    ],
  ])('%s: %s: %s', async (_, check, level, spoil) => {
    const it = await place(engine);
    await spoil(it);
    const found = await it.levels();
    expect(found.bad).toContainEqual([check, level]);
    expect(found.code).toBe(found.bad.some(([, each]) => each === 'fail') ? 1 : 0);
    const { out } = await it.run(['doctor']);
    expect(out).toMatch(new RegExp(`^${level === 'fail' ? 'FAIL' : 'WARN'} ${check}: .+\\n {5}\\S.+$`, 'm'));
  });
});

test.each([
  [512, 124, 'ok', null],
  [128, 64, 'ok', null],
  [128, 65, 'warn', 'set shared_buffers to 512MB or more'],
  [128, 124, 'warn', 'set shared_buffers to 512MB or more'],
  [128, 600, 'warn', 'set shared_buffers to 4096MB or more'],
] as const)('shared buffers of %i MiB with an index of %i are: %s', (shared, listed, level, todo) => {
  const found = judgeRoom({ sharedBytes: shared * MIB, indexBytes: listed * MIB });
  expect(found).toMatchObject({ check: 'shared buffers', level });
  expect(found.detail).toBe(`PostgreSQL has ${shared} MiB, of which lists of packages read ${listed}`);
  expect('todo' in found ? found.todo : null).toEqual(todo === null ? null : expect.stringContaining(todo));
});

describe.each(ENGINES.filter(({ name }) => name === 'postgres'))('a pooler before $name', (engine) => {
  test('needs settings of the role, which are named until it has them', async () => {
    const it = await place(engine);
    const url = new URL(it.databaseUrl ?? expect.unreachable());
    url.searchParams.set('pgbouncer', 'true');
    const env = { SERVICE_DATABASE_URL: url.href };
    expect((await it.levels()).checks).not.toContain('pooler');
    expect(await it.levels(env)).toMatchObject({ code: 0, bad: [['pooler', 'warn']] });
    expect((await it.run(['doctor'], { env })).out).toContain(
      'SET jit = off, SET max_parallel_workers_per_gather = 0, SET random_page_cost = 1.1, SET statement_timeout = 30000',
    );
    const set = ['jit = off', 'max_parallel_workers_per_gather = 0', 'random_page_cost = 1.1'];
    for (const setting of [...set, "statement_timeout = ''30s''"]) {
      const statement = `format('ALTER DATABASE %I SET ${setting}', current_database())`;
      await execute(it, `DO $$ BEGIN EXECUTE ${statement}; END $$`);
    }
    const { bad, checks } = await it.levels(env);
    expect([bad, checks.at(-1)]).toEqual([[], 'clock']);
    expect(checks).toContain('pooler');
  });
});

describe('integrity on sqlite', () => {
  const [engine] = ENGINES;

  test('a damaged page is reported', async () => {
    const it = await place(engine ?? expect.unreachable());
    // Everything in one file, without a write-ahead log beside it.
    const database = new DatabaseSync(it.file(SQLITE_FILE));
    database.exec(`VACUUM INTO '${it.file('whole.db')}'`);
    const find = "SELECT rootpage FROM sqlite_schema WHERE name = 'events_type'";
    for (const name of readdirSync(it.dataDir)) if (name.startsWith(SQLITE_FILE)) rmSync(it.file(name));
    renameSync(it.file('whole.db'), it.file(SQLITE_FILE));
    const index = new DatabaseSync(it.file(SQLITE_FILE), { readOnly: true }).prepare(find).get();
    const bytes = readFileSync(it.file(SQLITE_FILE));
    const page = (Number(index?.rootpage) - 1) * 4_096;
    bytes.fill(0xff, page + 3_000, page + 4_096);
    writeFileSync(it.file(SQLITE_FILE), bytes);
    const { code, bad } = await it.levels();
    expect([code, bad]).toEqual([1, expect.arrayContaining([['integrity', 'fail']])]);
  });

  test('a dangling reference is reported', async () => {
    const it = await place(engine ?? expect.unreachable());
    const database = new DatabaseSync(it.file(SQLITE_FILE), { enableForeignKeyConstraints: false });
    database.exec("INSERT INTO agent_presence (agent_id, last_seen_at) VALUES ('gone', 1)");
    database.close();
    const ran = await it.run(['doctor']);
    expect(ran.out).toContain('FAIL integrity: agent_presence: a row refers to a row of agents that is gone');
  });
});
