import { writeFileSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startFakeOsv } from '@tidegate/testkit/fake-osv';
import { startFakeOsvExport } from '@tidegate/testkit/fake-osv-export';
import { tmpDir } from '@tidegate/testkit/tmp';
import { zipArchive } from '@tidegate/testkit/zip-archive';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Database } from '../../platform/db/engine.ts';
import { insertTestAgent } from '../../testing/agent-rows.ts';
import { ENGINES } from '../../testing/engines.ts';
import { createTestPlatform } from '../../testing/test-platform.ts';
import { querySource, storeAnswers } from '../check-packages.ts';
import { createOsvClient } from '../osv-client.ts';
import { reportStaleEcosystems, type StalenessOptions } from '../staleness/staleness-watch.ts';
import { readAdvisories, readChecks, saveChecks } from '../store.ts';
import { type Subject, subjectKey } from '../subjects.ts';
import { createAdvisoryWorker } from '../worker.ts';
import { claimLoad, HEARTBEAT_MAX_MS, readLoads } from './loading/store.ts';
import { createMirrorJudge } from './matching/judge-from-mirror.ts';
import { openMirror } from './open-mirror.ts';
import { snapshotId } from './snapshot.ts';
import { findAbandonedLoads, hasEntries, insertRecords, readSnapshots } from './store.ts';

const OPENSSL = { ecosystem: 'Debian:12', name: 'openssl', version: '3.0.11-1' };
const ZLIB = { ecosystem: 'Debian:12', name: 'zlib', version: '1:1.2-1' };
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** Generous limits, so that a busy machine does not fail a healthy source. */
const PATIENCE_MS = 60_000;

describe.each(ENGINES)('the mirror of advisories on $name', (engine) => {
  type Settings = {
    source?: 'mirror' | 'mirror+api';
    covered?: string[];
    limits?: Parameters<typeof openMirror>[0]['limits'];
    fetches?: boolean;
  };
  async function setUp({
    source = 'mirror',
    covered = ['Debian:12', 'Debian:11'],
    limits,
    fetches = true,
  }: Settings = {}) {
    const osv = await startFakeOsv({ covered });
    onTestFinished(() => osv.stop());
    const files = await startFakeOsvExport(osv);
    onTestFinished(() => files.stop());
    osv.addRecord({ id: 'CVE-1', modified: '2026-01-02T00:00:00Z', summary: 'bad', aliases: ['X-1'] }, [
      { ...OPENSSL, versions: [OPENSSL.version] },
      { ...OPENSSL, ecosystem: 'Debian:11', versions: [OPENSSL.version] },
    ]);
    const database = await engine.open();
    const platform = createTestPlatform(database);
    const folder = tmpDir('tidegate-mirror-');
    onTestFinished(() => folder.remove());
    const client = createOsvClient({
      baseUrl: osv.url,
      timeouts: { batchMs: PATIENCE_MS, singleMs: PATIENCE_MS },
      sleep: async () => {},
    });
    const config = {
      ...{ advisorySource: source, advisoryMaxAgeHours: 24 },
      advisoryExportUrl: fetches ? files.url : 'none',
      dataDir: folder.path,
    };
    const mirror = openMirror({
      ...{ platform, config, api: client, sleep: async () => {} },
      ...(limits ? { limits } : {}),
    });
    if (!mirror) throw new Error('no mirror');
    onTestFinished(() => mirror.stop());
    const worker = createAdvisoryWorker({ platform, client, config, mirror });
    onTestFinished(() => worker.stop());
    mirror.need('Debian:12');
    const checksOf = async (...subjects: Subject[]) => {
      const checks = await readChecks(database.read, subjects);
      return subjects.map((subject) => checks.get(subjectKey(subject)) ?? null);
    };
    const judged = async (...subjects: Subject[]) => [
      (await worker.ensureJudged(subjects, PATIENCE_MS)).outcome,
      ...(await checksOf(...subjects)).map((check) => check?.verdict ?? null),
    ];
    const snapshot = async (base = 'Debian') => (await readSnapshots(database.read)).get(base) ?? null;
    const warnings = () => platform.lines.filter((line) => /^\[WARNING\] .*supply_chain/.test(line));
    const staleness: StalenessOptions = {
      ...{ platform, maxAgeMs: 24 * HOUR_MS, bootedAt: 0, source, worker, mirror },
    };
    return {
      ...{
        osv,
        files,
        database,
        platform,
        clock: platform.clock,
        mirror,
        worker,
        judged,
        checksOf,
        snapshot,
      },
      ...{ warnings, folder: folder.path, client, stale: () => reportStaleEcosystems(staleness) },
    };
  }

  test('answers without a call, as of its snapshot’s time, with everything that operators see', async () => {
    const { osv, mirror, judged, checksOf, snapshot, database, platform, worker } = await setUp();
    expect(worker.status()).toBe('loading');
    await mirror.refresh();
    expect(await judged(OPENSSL, ZLIB)).toEqual(['judged', 'vulnerable', 'clear']);
    const now = await snapshot();
    if (!now) throw new Error('no snapshot');
    expect(await checksOf(OPENSSL)).toEqual([
      {
        ...{ subject: OPENSSL, verdict: 'vulnerable', reason: null, ids: ['CVE-1'], source: 'mirror' },
        ...{ checkedAtMs: platform.now(), snapshot: snapshotId(now) },
      },
    ]);
    expect(snapshotId(now)).toMatch(/^osv:Debian@2026-01-02T00:00:00Z#[0-9a-f]{16}$/);
    expect(now).toMatchObject({ releases: ['Debian:12'], asOfKind: 'fetched', records: 3, badRecords: 0 });
    const record = (await readAdvisories(database.read, ['CVE-1'])).get('CVE-1')?.record ?? '';
    expect(JSON.parse(record)).toMatchObject({ summary: 'bad', aliases: ['X-1'] });
    expect(osv.requests).toEqual([]);
    expect(worker.status()).toBe('ok');
  });

  test('holds only the fleet’s releases, and loads again when one is added', async () => {
    const { mirror, snapshot, database, files } = await setUp();
    await mirror.refresh();
    const first = await snapshot();
    const held = (eco: string, loadId = first?.loadId ?? 0) =>
      hasEntries(database.read, { loadId, eco, names: ['openssl'] });
    expect([await held('Debian:12'), await held('Debian:11')]).toEqual([true, false]);
    mirror.need('Debian:11');
    await mirror.refresh();
    const second = await snapshot();
    expect(second?.releases).toEqual(['Debian:11', 'Debian:12']);
    expect(await held('Debian:11', second?.loadId)).toBe(true);
    expect(files.requests.filter((path) => path === 'Debian/all.zip')).toHaveLength(2);
    expect(await held('Debian:12')).toBe(false);
  });

  test('loads what hosts report by itself, and nothing else', async () => {
    const { mirror, database, files, platform } = await setUp();
    await insertTestAgent(database, { n: 1 });
    await database.transact(async (tx) => {
      await tx.updateTable('agents').set({ os_id: 'almalinux', os_version_id: '9.4' }).execute();
      const [agent] = await tx.selectFrom('agents').select('id').execute();
      const report = { digest: 'd', scanned_at: 1, received_at: 1, complete: 1, package_count: 0 };
      await tx
        .insertInto('inventory_reports')
        .values({ agent_id: agent?.id ?? '', ecosystem: 'dnf', ...report })
        .execute();
    });
    await mirror.refresh();
    expect(new Set(files.requests.map((path) => path.split('/')[0]))).toEqual(
      new Set(['AlmaLinux', 'Debian']),
    );
    expect(platform.lines.join('\n')).toMatch(
      /\[INFO\] advisory mirror loads ecosystem=Debian phase=downloading/,
    );
  });

  test('an advisory from a delta is not hidden by an earlier "clear"', async () => {
    const { osv, mirror, judged, clock, snapshot, files } = await setUp();
    await mirror.refresh();
    expect(await judged(ZLIB)).toEqual(['judged', 'clear']);
    const before = await snapshot();
    osv.addRecord({ id: 'CVE-2', modified: '2026-02-01T00:00:00Z' }, [{ ...ZLIB, versions: [ZLIB.version] }]);
    clock.advance(15 * MINUTE_MS);
    await mirror.refresh();
    expect(files.requests.filter((path) => path.endsWith('.zip'))).toHaveLength(1);
    expect(await judged(ZLIB)).toEqual(['judged', 'vulnerable']);
    const after = await snapshot();
    expect(after).toMatchObject({ modifiedMark: '2026-02-01T00:00:00Z', asOfMs: clock.now() });
    expect(after?.sha256).not.toBe(before?.sha256);
  });

  test('a withdrawal is applied, and so is a record that now names other packages', async () => {
    const { osv, mirror, judged, clock } = await setUp();
    osv.addRecord({ id: 'CVE-2', modified: '2026-01-03T00:00:00Z' }, [{ ...ZLIB, versions: [ZLIB.version] }]);
    await mirror.refresh();
    expect(await judged(OPENSSL, ZLIB)).toEqual(['judged', 'vulnerable', 'vulnerable']);
    osv.withdraw('CVE-1', '2026-02-01T00:00:00Z');
    osv.addRecord({ id: 'CVE-2', modified: '2026-02-02T00:00:00Z' }, [{ ...ZLIB, name: 'other', all: true }]);
    clock.advance(15 * MINUTE_MS);
    await mirror.refresh();
    expect(await judged(OPENSSL, ZLIB)).toEqual(['judged', 'clear', 'clear']);
  });

  test('many changes of one moment are all applied', async () => {
    const { osv, mirror, judged, clock } = await setUp();
    await mirror.refresh();
    const subjects = Array.from({ length: 120 }, (_, i) => ({ ...ZLIB, name: `lib${i}` }));
    await judged(...subjects);
    for (const one of subjects) {
      osv.addRecord({ id: `CVE-${one.name}`, modified: '2026-02-01T00:00:00Z' }, [{ ...one, all: true }]);
    }
    clock.advance(15 * MINUTE_MS);
    await mirror.refresh();
    const verdicts = (await judged(...subjects)).slice(1);
    expect(new Set(verdicts)).toEqual(new Set(['vulnerable']));
  });

  test('a deletion, which no list of changes contains, is applied by the weekly full load', async () => {
    const { osv, mirror, judged, clock } = await setUp();
    await mirror.refresh();
    osv.clear();
    clock.advance(15 * MINUTE_MS);
    await mirror.refresh();
    expect(await judged(OPENSSL)).toEqual(['judged', 'vulnerable']);
    clock.advance(7 * 24 * HOUR_MS);
    await mirror.refresh();
    expect(await judged(OPENSSL)).toEqual(['judged', 'clear']);
  });

  test('releases that exist nowhere cost one load in an hour, and hold no changes up', async () => {
    const { mirror, snapshot, files, platform } = await setUp();
    const loads = () => files.requests.filter((path) => path === 'Debian/all.zip').length;
    await mirror.refresh();
    mirror.need('Debian:99');
    await mirror.refresh();
    expect(loads()).toBe(2);
    for (const release of ['Debian:98', 'Debian:97', 'Debian:11']) {
      mirror.need(release);
      await mirror.refresh();
    }
    expect(loads()).toBe(2);
    platform.clock.advance(15 * 60_000);
    await mirror.refresh();
    expect(loads()).toBe(2);
    expect((await snapshot())?.asOfMs).toBe(platform.now());
    platform.clock.advance(45 * 60_000);
    await mirror.refresh();
    await mirror.refresh();
    expect(loads()).toBe(3);
    expect((await snapshot())?.releases).toEqual([
      'Debian:11',
      'Debian:12',
      'Debian:97',
      'Debian:98',
      'Debian:99',
    ]);
  });

  test('a release without data is uncovered, never clear', async () => {
    const { mirror, judged, checksOf } = await setUp();
    const unknown = { ...ZLIB, ecosystem: 'Debian:99' };
    mirror.need('Debian:99');
    await mirror.refresh();
    expect(await judged(unknown)).toEqual(['judged', 'unchecked']);
    expect(await checksOf(unknown)).toMatchObject([{ reason: 'uncovered' }]);
  });

  test.each(['mirror', 'mirror+api'] as const)(
    '%s: an ecosystem that hosts have and the mirror lacks is missing, whether or not the API answers',
    async (source) => {
      const { mirror, worker, database, files } = await setUp({ source });
      await mirror.refresh();
      expect([worker.status(), mirror.missing()]).toEqual(['ok', []]);
      // Loaded with the others of Debian, but the export has no advisory of it.
      await report(database, [{ n: 1, os: ['debian', '99'], ecosystem: 'apt' }]);
      await mirror.refresh();
      expect([worker.status(), mirror.missing()]).toEqual(['missing', ['Debian:99']]);
      // Its load fails.
      await report(database, [{ n: 2, os: ['almalinux', '9.4'], ecosystem: 'dnf' }]);
      files.files.set('AlmaLinux/all.zip', null);
      await mirror.refresh();
      expect([worker.status(), mirror.missing()]).toEqual([
        source === 'mirror' ? 'unreachable' : 'missing',
        ['AlmaLinux:9', 'Debian:99'],
      ]);
    },
  );

  test('without a source to load from, what no file has brought is missing at once', async () => {
    const { worker, mirror, database } = await setUp({ fetches: false });
    await report(database, [{ n: 1, os: ['debian', '12'], ecosystem: 'npm' }]);
    await mirror.refresh();
    expect([worker.status(), mirror.missing()]).toEqual(['missing', ['Debian:12', 'npm']]);
  });

  test('a first load that does not end is missing data after an hour, not loading for ever', async () => {
    const { worker, mirror, database, platform, clock } = await setUp();
    await database.transact((tx) =>
      claimLoad(tx, { base: 'Debian', holder: 'other', nowMs: platform.now(), phase: 'downloading' }),
    );
    const beating = async () => {
      await database.transact((tx) =>
        tx.updateTable('mirror_loads').set({ heartbeat_at: platform.now() }).execute(),
      );
      await mirror.refresh();
      return worker.status();
    };
    clock.advance(HOUR_MS - 1);
    expect(await beating()).toBe('loading');
    clock.advance(1);
    expect([await beating(), mirror.missing()]).toEqual(['missing', ['Debian:12']]);
  });

  test('while the first load is under way packages are pending; once it has failed they are unchecked (A2)', async () => {
    const { files, mirror, judged, worker, warnings, clock } = await setUp();
    expect(await judged(ZLIB)).toEqual(['pending', null]);
    files.mode = 'failing';
    await mirror.refresh();
    expect(await judged(ZLIB)).toEqual(['unreachable', null]);
    expect(worker.status()).toBe('unreachable');
    expect(warnings()).toHaveLength(1);
    files.mode = 'up';
    await mirror.refresh();
    expect(files.requests.filter((path) => path.endsWith('.zip'))).toHaveLength(1);
    clock.advance(MINUTE_MS);
    await mirror.refresh();
    expect(await judged(ZLIB)).toEqual(['judged', 'clear']);
  });

  test.each(['down', 'failing', 'hang', 'stall', 'truncated', 'garbage', 'redirect', 'bomb'] as const)(
    'a source that is %s changes no data, is logged, leaves no file, and is tried again',
    async (mode) => {
      // Two of them end only by a timeout.
      const ms = mode === 'hang' || mode === 'stall' ? 5_000 : PATIENCE_MS;
      const { files, mirror, judged, snapshot, clock, warnings, folder, database } = await setUp({
        limits: {
          export: { silenceMs: ms, recordMs: ms, listMs: ms, archiveMs: ms },
          zip: { entries: 100, entryBytes: 100_000, totalBytes: 1_000_000 },
        },
      });
      await mirror.refresh();
      const before = await snapshot();
      files.mode = mode;
      clock.advance(8 * 24 * HOUR_MS);
      await mirror.refresh();
      expect(await snapshot()).toEqual(before);
      expect(warnings()).toHaveLength(1);
      expect(await readdir(join(folder, 'advisories'))).toEqual([]);
      // Too old for "clear" (A2); a known vulnerability stays known.
      expect(await judged(OPENSSL, ZLIB)).toEqual(['unreachable', 'vulnerable', null]);
      files.mode = 'up';
      clock.advance(HOUR_MS);
      await mirror.refresh();
      expect(await judged(OPENSSL, ZLIB)).toEqual(['judged', 'vulnerable', 'clear']);
      expect(await findAbandonedLoads(database.read)).toEqual([]);
    },
  );

  test('a bad record makes its packages undecidable; too many reject the load', async () => {
    const { files, osv, mirror, judged, snapshot, warnings, clock } = await setUp();
    const bad = { id: 'BAD-1', affected: [{ package: ZLIB, versions: ['1'] }] };
    const entriesOf = (more: number) => [
      ...osv.all().map((record) => ({ name: `${record.id}.json`, content: JSON.stringify(record) })),
      { name: 'BAD-1.json', content: JSON.stringify(bad) },
      ...Array.from({ length: more }, (_, i) => ({ name: `WORSE-${i}.json`, content: '<html>' })),
    ];
    files.files.set('Debian/all.zip', zipArchive(entriesOf(0)));
    await mirror.refresh();
    expect(await snapshot()).toMatchObject({ records: 4, badRecords: 1 });
    expect(warnings().join()).toContain('record=BAD-1.json');
    expect(await judged(ZLIB, OPENSSL)).toEqual(['judged', 'unchecked', 'vulnerable']);
    const before = await snapshot();
    files.files.set('Debian/all.zip', zipArchive(entriesOf(3)));
    clock.advance(8 * 24 * HOUR_MS);
    await mirror.refresh();
    expect(await snapshot()).toEqual(before);
  });

  test.each([
    ['no record', []],
    ['far fewer records than the data in use', [0]],
    ['files that are no records', [{ name: 'readme.txt', content: 'x' }]],
    ['one record twice', [0, 0, 1, 2]],
  ] as const)('an archive with %s is rejected', async (_, content) => {
    const { files, osv, mirror, snapshot, clock } = await setUp();
    await mirror.refresh();
    const before = await snapshot();
    const records = osv.all();
    const entries = content.map((one) => {
      if (typeof one !== 'number') return one;
      return { name: `${records[one]?.id}.json`, content: JSON.stringify(records[one]) };
    });
    files.files.set('Debian/all.zip', zipArchive(entries));
    clock.advance(8 * 24 * HOUR_MS);
    await mirror.refresh();
    expect((await snapshot())?.loadId).toBe(before?.loadId);
  });

  test('a killed load is restarted; its rows are deleted, the data in use stays', async () => {
    const { mirror, database, clock, snapshot, judged, files, folder } = await setUp();
    await mirror.refresh();
    const before = await snapshot();
    clock.advance(8 * 24 * HOUR_MS);
    const killed = await database.transact((tx) =>
      claimLoad(tx, { base: 'Debian', holder: 'other', nowMs: clock.now(), phase: 'reading' }),
    );
    const entry = { eco: 'Debian:12', name: 'zlib', rangesJson: 'null', versionsJson: '[]' };
    const record = {
      id: 'HALF-1',
      modified: 'x',
      modifiedMs: 0,
      record: '{}',
      fault: null,
      isWhole: true,
      entries: [entry],
    };
    const loadId = killed?.load_id ?? 0;
    await database.transact((tx) => insertRecords(tx, { loadId, records: [record] }));
    await mkdir(join(folder, 'advisories'), { recursive: true });
    writeFileSync(join(folder, 'advisories', `${loadId}.zip`), 'half');
    // While it may be alive no other load starts.
    clock.advance(HEARTBEAT_MAX_MS - 1);
    await mirror.refresh();
    expect(await snapshot()).toEqual(before);
    clock.advance(1);
    await mirror.refresh();
    expect((await snapshot())?.loadId).toBeGreaterThan(loadId);
    expect(await findAbandonedLoads(database.read)).toEqual([]);
    expect(await hasEntries(database.read, { loadId, eco: 'Debian:12', names: [] })).toBe(false);
    expect(await judged(ZLIB)).toEqual(['judged', 'clear']);
    expect(files.requests.filter((path) => path.endsWith('.zip'))).toHaveLength(2);
  });

  test('of two servers that try to load, one does', async () => {
    const { database, clock } = await setUp();
    const claims = await Promise.all(
      ['a', 'b', 'c'].map((holder) =>
        database
          .transact((tx) => claimLoad(tx, { base: 'npm', holder, nowMs: clock.now(), phase: 'x' }))
          .catch(() => null),
      ),
    );
    expect(claims.filter((claim) => claim !== null)).toHaveLength(1);
    expect((await readLoads(database.read)).get('npm')?.holder).toBe(claims.find((claim) => claim)?.holder);
  });

  test('mirror+api: an unreachable API alone leaves packages pending during the first load; once both failed they are unchecked (A2)', async () => {
    const { osv, files, mirror, judged } = await setUp({ source: 'mirror+api' });
    osv.mode = 'down';
    expect(await judged(ZLIB)).toEqual(['pending', null]);
    files.mode = 'failing';
    await mirror.refresh();
    expect(await judged(ZLIB)).toEqual(['unreachable', null]);
    osv.mode = 'up';
    expect(await judged(ZLIB)).toEqual(['judged', 'clear']);
  });

  test('mirror+api: the API answers only while the mirror cannot', async () => {
    const { osv, files, mirror, judged, checksOf, clock, worker } = await setUp({ source: 'mirror+api' });
    files.mode = 'down';
    await mirror.refresh();
    expect(await judged(OPENSSL, ZLIB)).toEqual(['judged', 'vulnerable', 'clear']);
    expect(await checksOf(OPENSSL)).toMatchObject([{ source: 'api', snapshot: null }]);
    expect([worker.status(), mirror.missing()]).toEqual(['missing', ['Debian:12']]);
    files.mode = 'up';
    clock.advance(HOUR_MS);
    await mirror.refresh();
    expect([worker.status(), mirror.missing()]).toEqual(['ok', []]);
    const asked = osv.requests.length;
    expect(await judged(OPENSSL, ZLIB)).toEqual(['judged', 'vulnerable', 'clear']);
    expect(await checksOf(OPENSSL)).toMatchObject([{ source: 'mirror' }]);
    expect(osv.requests.length).toBe(asked);
  });

  test.each([
    ['mirror+api', 'vulnerable'],
    ['mirror', 'clear'],
  ] as const)(
    '%s: a record that the export does not have comes from the API, or was deleted',
    async (source, verdict) => {
      const { osv, files, mirror, judged, clock } = await setUp({ source });
      await mirror.refresh();
      osv.addRecord({ id: 'CVE-2', modified: '2026-02-01T00:00:00Z' }, [{ ...ZLIB, all: true }]);
      files.files.set('Debian/CVE-2.json', null);
      clock.advance(15 * MINUTE_MS);
      await mirror.refresh();
      expect(await judged(ZLIB)).toEqual(['judged', verdict]);
    },
  );

  test('while a changed record is unreadable, the snapshot advances only to the changes before it', async () => {
    const { osv, files, mirror, judged, clock, snapshot } = await setUp();
    await mirror.refresh();
    const before = await snapshot();
    osv.addRecord({ id: 'CVE-2', modified: '2026-02-01T00:00:00Z' }, [{ ...ZLIB, all: true }]);
    files.files.set('Debian/CVE-2.json', '<html>');
    clock.advance(15 * MINUTE_MS);
    await mirror.refresh();
    expect(await snapshot()).toEqual(before);
    files.files.delete('Debian/CVE-2.json');
    clock.advance(HOUR_MS);
    await mirror.refresh();
    expect(await judged(ZLIB)).toEqual(['judged', 'vulnerable']);
  });

  test('mirror+api: with both unreachable a stale answer does not count (A2), and one event reports the whole period', async () => {
    const { osv, files, mirror, judged, clock, worker, stale, database } = await setUp({
      source: 'mirror+api',
    });
    await mirror.refresh();
    await judged(ZLIB);
    osv.mode = 'down';
    files.mode = 'down';
    clock.advance(24 * HOUR_MS);
    await mirror.refresh();
    expect((await judged(ZLIB))[0]).toBe('unreachable');
    expect(worker.status()).toBe('stale');
    expect([await stale(), await stale()]).toEqual([1, 0]);
    files.mode = 'up';
    clock.advance(HOUR_MS);
    await mirror.refresh();
    expect(await judged(ZLIB)).toEqual(['judged', 'clear']);
    expect(worker.status()).toBe('ok');
    expect(await stale()).toBe(0);
    files.mode = 'down';
    clock.advance(25 * HOUR_MS);
    expect(await stale()).toBe(1);
    const events = await database.read.selectFrom('events').selectAll().execute();
    expect(events.map(({ type, kind, severity }) => [kind, type, severity])).toEqual([
      ['system', 'advisories_stale', 'error'],
      ['system', 'advisories_stale', 'error'],
    ]);
    expect(JSON.parse(events[0]?.content ?? '')).toMatchObject({ ecosystem: 'Debian', max_age_hours: 24 });
  });

  test('an API answer older than a mirror update is not stored', async () => {
    const { mirror, client, platform, checksOf } = await setUp({ source: 'mirror+api' });
    const { checks } = await querySource(platform, client, [ZLIB]);
    await mirror.refresh();
    const question = { checks: [...checks.values()], bases: [ZLIB], snapshots: new Map([['Debian', '']]) };
    expect(checks.size).toBe(1);
    expect(await storeAnswers(platform, question)).toEqual(new Set(['Debian']));
    expect(await checksOf(ZLIB)).toEqual([null]);
  });

  test('a check of data that changed meanwhile is not stored', async () => {
    const { osv, mirror, platform, clock, checksOf } = await setUp();
    await mirror.refresh();
    osv.addRecord({ id: 'CVE-2', modified: '2026-02-01T00:00:00Z' }, [{ ...ZLIB, all: true }]);
    clock.advance(15 * MINUTE_MS);
    const { database } = platform;
    const overtaken: Database = {
      ...database,
      read: database.read,
      async transact(work) {
        await mirror.refresh();
        return database.transact(work);
      },
    };
    const judge = createMirrorJudge({
      ...{ platform: { ...platform, database: overtaken }, maxAgeMs: 24 * HOUR_MS },
      ...{ isAlone: true, isFetching: true },
    });
    const first = await judge.judge([ZLIB]);
    expect(first.left.get(subjectKey(ZLIB))?.gap).toBe('changed');
    expect(await checksOf(ZLIB)).toEqual([null]);
    expect((await judge.judge([ZLIB])).left.size).toBe(0);
    expect(await checksOf(ZLIB)).toMatchObject([{ verdict: 'vulnerable' }]);
  });

  test('a stale mirror does not remove later findings', async () => {
    const { mirror, judged, clock, files, database, checksOf } = await setUp();
    await mirror.refresh();
    files.mode = 'down';
    clock.advance(25 * HOUR_MS);
    const later = {
      ...{ subject: OPENSSL, verdict: 'vulnerable' as const, reason: 'unreachable' as const },
      ...{ ids: ['CVE-1', 'CVE-9'], checkedAtMs: clock.now(), source: 'api', snapshot: null },
    };
    await database.transact((tx) => saveChecks(tx, [later], { keeps: 'nothing', nowMs: clock.now() }));
    await judged(OPENSSL);
    expect(await checksOf(OPENSSL)).toMatchObject([{ ids: ['CVE-1', 'CVE-9'] }]);
  });
});

/** Hosts that have reported packages. */
async function report(
  database: Database,
  hosts: readonly { n: number; os: readonly [id: string, versionId: string]; ecosystem: string }[],
): Promise<void> {
  for (const { n, os, ecosystem } of hosts) {
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
}
