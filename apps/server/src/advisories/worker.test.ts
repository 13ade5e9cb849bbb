import { type FakeOsv, startFakeOsv } from '@tidegate/testkit/fake-osv';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { DatabaseFault } from '../platform/db/engine.ts';
import { ENGINES } from '../testing/engines.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { type Plugin, readsWithPlugin, shown } from '../testing/with-plugin.ts';
import { querySource, storeAnswers } from './check-packages.ts';
import { createOsvClient, type OsvClient } from './osv-client.ts';
import { readAdvisories, readChecks, readCoverage } from './store.ts';
import { type Subject, subjectKey } from './subjects.ts';
import { type AdvisoryWorker, createAdvisoryWorker, type WorkerOptions } from './worker.ts';

const OPENSSL = { ecosystem: 'Debian:12', name: 'openssl', version: '3.0.11-1' };
const ZLIB = { ecosystem: 'Debian:12', name: 'zlib', version: '1:1.2-1' };
const LEFT = { ecosystem: 'npm', name: 'left', version: '1.0.0' };
const HOUR_MS = 3_600_000;
/** Generous timeouts, so that a busy machine does not fail a healthy source. */
const PATIENCE_MS = 30_000;
const WAIT_MS = 15_000;
const API = { advisorySource: 'api', advisoryMaxAgeHours: 24 } as const;

const ensure = async (worker: AdvisoryWorker, subjects: readonly Subject[], waitMs: number) =>
  (await worker.ensureJudged(subjects, waitMs)).outcome;
const inBackground = async (worker: AdvisoryWorker, subjects: readonly Subject[], waitMs: number) =>
  (await worker.judgeInBackground(subjects, waitMs)).outcome;

const running: FakeOsv[] = [];
afterEach(async () => {
  for (const osv of running.splice(0)) await osv.stop();
});

describe.each(ENGINES)('the advisory worker on $name', (engine) => {
  async function setUp(config: Partial<WorkerOptions['config']> = {}) {
    const osv = await startFakeOsv({ covered: ['Debian:12'] });
    running.push(osv);
    osv.addRecord({ id: 'CVE-1', modified: '2026-01-02T00:00:00Z', summary: 'bad' }, [
      { ...OPENSSL, versions: [OPENSSL.version] },
    ]);
    const database = await engine.open();
    const platform = createTestPlatform(database);
    const timeouts = { batchMs: PATIENCE_MS, singleMs: PATIENCE_MS };
    const client = createOsvClient({ baseUrl: osv.url, timeouts, sleep: async () => {} });
    const worker = createAdvisoryWorker({ platform, client, config: { ...API, ...config } });
    onTestFinished(() => worker.stop());
    /** Shortens the timeout of calls, for a hanging source. */
    const giveUpAfter = (ms: number) => Object.assign(timeouts, { batchMs: ms, singleMs: ms });
    const checksOf = async (...subjects: Subject[]) => {
      const checks = await readChecks(database.read, subjects);
      return subjects.map((subject) => checks.get(subjectKey(subject)) ?? null);
    };
    return { osv, platform, database, client, worker, checksOf, giveUpAfter };
  }

  test('clear and vulnerable packages are stored, with the records found', async () => {
    const { osv, worker, database, checksOf } = await setUp();
    expect(await ensure(worker, [OPENSSL, LEFT, ZLIB, OPENSSL], WAIT_MS)).toBe('judged');
    expect(await checksOf(OPENSSL, LEFT, ZLIB)).toMatchObject([
      { verdict: 'vulnerable', ids: ['CVE-1'], source: 'api' },
      { verdict: 'clear', ids: [] },
      { verdict: 'clear', ids: [] },
    ]);
    expect((await readAdvisories(database.read, ['CVE-1'])).get('CVE-1')?.record).toContain('bad');
    expect(worker.status()).toBe('ok');
    const asked = osv.requests.length;
    expect(await ensure(worker, [OPENSSL, LEFT], WAIT_MS)).toBe('judged');
    expect(osv.requests.length).toBe(asked);
  });

  test('an empty answer is clear only where a sentinel proves coverage, which is queried once in 24 h', async () => {
    const { osv, platform, worker, checksOf, database } = await setUp();
    const unknown = { ...ZLIB, ecosystem: 'Debian:99' };
    expect(await ensure(worker, [unknown], WAIT_MS)).toBe('judged');
    expect(await checksOf(unknown)).toMatchObject([{ verdict: 'unchecked', reason: 'uncovered' }]);
    expect((await readCoverage(database.read)).get('Debian:99')?.covered).toBe(false);
    const probes = () => osv.requests.filter(({ body }) => JSON.stringify(body).includes('"linux"')).length;
    expect(probes()).toBe(1);
    await ensure(worker, [{ ...unknown, name: 'other' }], WAIT_MS);
    expect(probes()).toBe(1);
    platform.clock.advance(24 * HOUR_MS);
    osv.covered.add('Debian:99');
    expect(await ensure(worker, [unknown], WAIT_MS)).toBe('judged');
    expect(probes()).toBe(2);
    expect(await checksOf(unknown)).toMatchObject([{ verdict: 'clear' }]);
  });

  test.each(['down', 'failing', 'hang', 'garbage'] as const)(
    'a source that is %s is unreachable, is logged, stores nothing, and recovers',
    async (mode) => {
      const { osv, platform, worker, checksOf, giveUpAfter } = await setUp();
      osv.mode = mode;
      if (mode === 'hang') giveUpAfter(200);
      expect(await ensure(worker, [OPENSSL, LEFT], WAIT_MS)).toBe('unreachable');
      expect(await checksOf(OPENSSL, LEFT)).toEqual([null, null]);
      expect(worker.status()).toBe('unreachable');
      expect(platform.lines.filter((line) => /^\[WARNING\] .*supply_chain/.test(line))).toHaveLength(1);
      osv.mode = 'up';
      giveUpAfter(PATIENCE_MS);
      expect(await ensure(worker, [OPENSSL, LEFT], WAIT_MS)).toBe('judged');
      expect(worker.status()).toBe('ok');
    },
  );

  test('a coverage probe that fails leaves an empty answer unjudged, and a hit a hit', async () => {
    const { client, platform, checksOf } = await setUp();
    const probeFails: OsvClient = {
      ...client,
      async query(subjects) {
        if (subjects.every(({ name }) => name !== 'linux')) return client.query(subjects);
        return subjects.map(() => ({ kind: 'unreachable', ids: [], cause: 'test' }));
      },
    };
    const answers = await querySource(platform, probeFails, [ZLIB, OPENSSL]);
    expect(answers).toMatchObject({ failed: new Set([subjectKey(ZLIB)]), cause: 'test' });
    const checks = [...answers.checks.values()];
    await storeAnswers(platform, { checks, bases: [ZLIB, OPENSSL], snapshots: new Map() });
    expect(await checksOf(ZLIB, OPENSSL)).toMatchObject([null, { verdict: 'vulnerable' }]);
  });

  test('a subject not judged in time is pending unless the source is known to be down', async () => {
    const { osv, worker, giveUpAfter } = await setUp();
    osv.mode = 'hang';
    giveUpAfter(200);
    expect(await ensure(worker, [LEFT], 20)).toBe('pending');
    expect(await ensure(worker, [LEFT], WAIT_MS)).toBe('unreachable');
    // The source is now known to be down: the wait ends with that.
    expect(await ensure(worker, [LEFT], 20)).toBe('unreachable');
  });

  test('a source that has hung once gets trials of two seconds, not full waits', async () => {
    const { osv, platform, client, giveUpAfter } = await setUp();
    const given: (number | undefined)[] = [];
    const watched: OsvClient = {
      ...client,
      query(subjects, limits) {
        given.push(limits?.timeoutMs);
        return client.query(subjects, limits);
      },
    };
    const worker = createAdvisoryWorker({ platform, client: watched, config: API });
    onTestFinished(() => worker.stop());
    osv.mode = 'hang';
    giveUpAfter(200);
    expect(await ensure(worker, [LEFT], WAIT_MS)).toBe('unreachable');
    expect(await ensure(worker, [LEFT], WAIT_MS)).toBe('unreachable');
    osv.mode = 'up';
    giveUpAfter(PATIENCE_MS);
    expect(await ensure(worker, [LEFT], WAIT_MS)).toBe('judged');
    expect(await ensure(worker, [ZLIB], WAIT_MS)).toBe('judged');
    // Shorter than an operator waits; the last call also probes coverage.
    expect(given).toEqual([9_000, 2_000, 2_000, 9_000, 9_000]);
  });

  test('a check older than SERVICE_ADVISORY_MAX_AGE_HOURS is made again', async () => {
    const { osv, platform, worker } = await setUp({ advisoryMaxAgeHours: 1 });
    await ensure(worker, [LEFT], WAIT_MS);
    platform.clock.advance(HOUR_MS - 1);
    osv.mode = 'down';
    expect(await ensure(worker, [LEFT], WAIT_MS)).toBe('judged');
    platform.clock.advance(1);
    expect(await ensure(worker, [LEFT], WAIT_MS)).toBe('unreachable');
  });

  test('many requests for one subject cost one query', async () => {
    const { osv, platform, client } = await setUp();
    const held = Promise.withResolvers<void>();
    let looks = 0;
    const plugin: Plugin = {
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        looks++;
        return result;
      },
    };
    const plugged = readsWithPlugin(platform.database, plugin);
    const read = Object.assign(plugged, { run: shown(platform.database.read.run, plugin) });
    const worker = createAdvisoryWorker({
      platform: { ...platform, database: { ...platform.database, read } },
      client: { ...client, query: (...call) => held.promise.then(() => client.query(...call)) },
      config: API,
    });
    onTestFinished(() => worker.stop());
    const outcomes = Promise.all(Array.from({ length: 50 }, () => ensure(worker, [LEFT], WAIT_MS)));
    // A request that looked before the check was stored, and was notified afterwards, would query again. The round itself
    // queries coverage.
    await expect.poll(() => looks).toBe(50 + 1);
    held.resolve();
    expect(new Set(await outcomes)).toEqual(new Set(['judged']));
    expect(osv.requests.length).toBe(1);
  });

  test('a waiting request does not queue behind the background', async () => {
    const { osv, worker, giveUpAfter } = await setUp();
    osv.mode = 'hang';
    giveUpAfter(200);
    const slow = inBackground(worker, [LEFT], WAIT_MS);
    while (osv.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    osv.mode = 'up';
    giveUpAfter(PATIENCE_MS);
    expect(await ensure(worker, [OPENSSL], WAIT_MS)).toBe('judged');
    expect(await slow).toBe('unreachable');
  });

  test('nor behind a background call about the same package', async () => {
    const { osv, worker } = await setUp();
    osv.mode = 'hang';
    const slow = inBackground(worker, [OPENSSL], WAIT_MS);
    while (osv.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    osv.mode = 'up';
    expect(await ensure(worker, [OPENSSL], WAIT_MS)).toBe('judged');
    expect(await slow).toBe('judged');
  });

  test.each([
    ['off', 'off'],
    ['mirror', 'loading'],
  ] as const)('SERVICE_ADVISORY_SOURCE=%s makes no queries: unchecked', async (advisorySource, status) => {
    const { osv, worker } = await setUp({ advisorySource });
    expect(await ensure(worker, [LEFT], WAIT_MS)).toBe('unreachable');
    expect(worker.status()).toBe(status);
    expect(osv.requests).toHaveLength(0);
  });

  test('an empty request is judged at once, and a stopped worker makes no queries', async () => {
    const { osv, worker } = await setUp();
    expect(await ensure(worker, [], 0)).toBe('judged');
    await worker.stop();
    expect(await ensure(worker, [LEFT], WAIT_MS)).toBe('pending');
    expect(osv.requests).toHaveLength(0);
  });

  test('stopping ends every wait at once, and counts as no failure of a source', async () => {
    const { osv, worker } = await setUp();
    osv.mode = 'hang';
    const waits = [ensure(worker, [LEFT], 60_000), inBackground(worker, [ZLIB], 60_000)];
    while (osv.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    waits.push(ensure(worker, [OPENSSL], 60_000));
    await worker.stop();
    expect(await Promise.all(waits)).toEqual(['pending', 'pending', 'pending']);
  });

  test('a failed page keeps what was found, and is queried again', async () => {
    const { osv, worker, checksOf } = await setUp();
    osv.pageSize = 1;
    osv.addRecord({ id: 'CVE-0' }, [{ ...LEFT, all: true }]);
    osv.addRecord({ id: 'CVE-2' }, [{ ...LEFT, all: true }]);
    const asked = ensure(worker, [LEFT], WAIT_MS);
    while (osv.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    osv.mode = 'failing';
    expect(await asked).toBe('unreachable');
    const [check] = await checksOf(LEFT);
    if (check) expect(check).toMatchObject({ verdict: 'vulnerable', reason: 'unreachable' });
    osv.mode = 'up';
    expect(await ensure(worker, [LEFT], WAIT_MS)).toBe('judged');
    expect(await checksOf(LEFT)).toMatchObject([{ ids: ['CVE-0', 'CVE-2'], reason: null }]);
  });

  test('subjects beyond the queue are pending, and queried the next time', async () => {
    const { osv, platform, client } = await setUp();
    const worker = createAdvisoryWorker({ platform, client, config: API, queueMax: 1 });
    onTestFinished(() => worker.stop());
    const some = [LEFT, ZLIB, OPENSSL];
    const keys = () => osv.requests.filter(({ path }) => path === '/v1/querybatch').length;
    for (const outcome of ['pending', 'pending', 'judged']) {
      const asked = keys();
      const said = await worker.ensureJudged(some, WAIT_MS);
      expect(said).toEqual({ outcome, unreachable: new Set() });
      expect(keys()).toBeGreaterThan(asked);
    }
  });

  test('a record that is missing is fetched later, also by the next server', async () => {
    const { platform, database, client } = await setUp();
    const records = { isDown: true, asked: 0 };
    const odd: OsvClient = {
      ...client,
      async fetchRecord(id) {
        records.asked += 1;
        return records.isDown ? { kind: 'unreachable', cause: 'down' } : client.fetchRecord(id);
      },
    };
    const open = () => {
      const worker = createAdvisoryWorker({ platform, client: odd, config: API });
      onTestFinished(() => worker.stop());
      return worker;
    };
    const isStored = async () => (await readAdvisories(database.read, ['CVE-1'])).size === 1;
    const worker = open();
    expect(await ensure(worker, [OPENSSL], WAIT_MS)).toBe('judged');
    worker.wantRecords(['CVE-1']);
    await expect.poll(() => records.asked).toBe(2);
    worker.wantRecords(['CVE-1']);
    records.isDown = false;
    platform.clock.advance(15 * 60_000);
    expect(await isStored()).toBe(false);
    worker.wantRecords(['CVE-1']);
    await expect.poll(isStored).toBe(true);
    await database.transact((tx) => tx.deleteFrom('advisories').execute());
    open().wantRecords(['CVE-1']);
    await expect.poll(isStored).toBe(true);
    expect(records.asked).toBe(4);
  });

  test('an unavailable database is no failed source', async () => {
    const { platform, client } = await setUp();
    const database = {
      ...platform.database,
      transact: () => Promise.reject(new DatabaseFault('the disk is full')),
    };
    const worker = createAdvisoryWorker({ platform: { ...platform, database }, client, config: API });
    onTestFinished(() => worker.stop());
    expect(await ensure(worker, [LEFT], WAIT_MS)).toBe('pending');
    expect(platform.lines.some((line) => line.startsWith('[ERROR] advisory round failed'))).toBe(true);
  });

  test('subjects that a source fails for are named; its other answers keep it in use', async () => {
    const { osv, client, platform, worker: first } = await setUp();
    await first.stop();
    const odd: OsvClient = {
      ...client,
      async query(subjects) {
        return subjects.map(({ name }) =>
          name === 'odd' ? { kind: 'garbage', ids: [], cause: 'test' } : { kind: 'hits', ids: [] },
        );
      },
    };
    const worker = createAdvisoryWorker({ platform, client: odd, config: API });
    onTestFinished(() => worker.stop());
    const ODD = { ...LEFT, name: 'odd' };
    for (let i = 0; i < 10; i++) {
      const said = await worker.ensureJudged([ODD, { ...LEFT, version: `1.${i}` }], WAIT_MS);
      expect(said).toEqual({ outcome: 'unreachable', unreachable: new Set([subjectKey(ODD)]) });
    }
    expect(worker.status()).toBe('ok');
    expect(osv.requests).toEqual([]);
  });

  test('of two answers the one to the later query stays, in any order of arrival', async () => {
    const { platform, client, checksOf } = await setUp();
    const early = await querySource(platform, client, [ZLIB]);
    platform.clock.advance(1);
    const found: OsvClient = {
      ...client,
      query: async (subjects) =>
        subjects.map(() => ({ kind: 'hits', ids: [{ id: 'MAL-1', modified: '2026-11-21T09:00:00Z' }] })),
    };
    const late = await querySource(platform, found, [ZLIB]);
    for (const { checks } of [late, early]) {
      await storeAnswers(platform, { checks: [...checks.values()], bases: [ZLIB], snapshots: new Map() });
    }
    expect(await checksOf(ZLIB)).toMatchObject([{ verdict: 'vulnerable', ids: ['MAL-1'] }]);
  });
});
