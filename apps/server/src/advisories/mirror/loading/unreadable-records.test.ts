import { startFakeOsv } from '@tidegate/testkit/fake-osv';
import { startFakeOsvExport } from '@tidegate/testkit/fake-osv-export';
import { tmpDir } from '@tidegate/testkit/tmp';
import { zipArchive } from '@tidegate/testkit/zip-archive';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ENGINES } from '../../../testing/engines.ts';
import { createTestPlatform } from '../../../testing/test-platform.ts';
import { createOsvClient } from '../../osv-client.ts';
import { readChecks } from '../../store.ts';
import { type Subject, subjectKey } from '../../subjects.ts';
import { createAdvisoryWorker } from '../../worker.ts';
import { openMirror } from '../open-mirror.ts';
import { type Snapshot, snapshotId, UNREADABLE_MAX } from '../snapshot.ts';
import { readSnapshots } from '../store.ts';

const OPENSSL = { ecosystem: 'Debian:12', name: 'openssl', version: '3.0.11-1' };
const ZLIB = { ecosystem: 'Debian:12', name: 'zlib', version: '1:1.2-1' };
const CURL = { ecosystem: 'Debian:12', name: 'curl', version: '7-1' };
const PATIENCE_MS = 60_000;
const QUARTER_MS = 15 * 60_000;
const WEEK_MS = 8 * 24 * 3_600_000;
const ENTRY_BYTES = 50_000;

/** Records that do not say which packages they affect. */
const UNREADABLE: readonly (readonly [string, string])[] = [
  ['no JSON', '<html>'],
  ['cut off', '{"id":"ODD-1","affected":[{"package":{"ecosystem":"Debian:12","name":"curl"}},{"pack'],
  ['of another id', '{"id":"ODD-2","modified":"2026-01-02T00:00:00Z","affected":[]}'],
  ['with an invalid member', '{"id":"ODD-1","modified":"2026-01-02T00:00:00Z","affected":[7]}'],
  ['larger than a record may be', ' '.repeat(ENTRY_BYTES + 1)],
  ['too deep to be read', '['.repeat(100_000 / 2 - 1)],
];

describe.each(ENGINES)('an unreadable advisory, on $name', (engine) => {
  async function setUp(source: 'mirror' | 'mirror+api' = 'mirror') {
    const osv = await startFakeOsv({ covered: ['Debian:12'] });
    onTestFinished(() => osv.stop());
    const files = await startFakeOsvExport(osv);
    onTestFinished(() => files.stop());
    osv.addRecord({ id: 'CVE-1', modified: '2026-01-02T00:00:00Z' }, [
      { ...OPENSSL, versions: [OPENSSL.version] },
    ]);
    const database = await engine.open();
    const platform = createTestPlatform(database);
    const folder = tmpDir('tidegate-illegible-');
    onTestFinished(() => folder.remove());
    const client = createOsvClient({
      ...{ baseUrl: osv.url, sleep: async () => {} },
      timeouts: { batchMs: PATIENCE_MS, singleMs: PATIENCE_MS },
    });
    const config = {
      ...{ advisorySource: source, advisoryMaxAgeHours: 24, advisoryExportUrl: files.url },
      dataDir: folder.path,
    };
    const zip = { entries: 1_000, entryBytes: ENTRY_BYTES, totalBytes: 10_000_000 };
    const mirror = openMirror({ platform, config, api: client, sleep: async () => {}, limits: { zip } });
    if (!mirror) throw new Error('no mirror');
    onTestFinished(() => mirror.stop());
    const worker = createAdvisoryWorker({ platform, client, config, mirror });
    onTestFinished(() => worker.stop());
    mirror.need('Debian:12');
    const judged = async (...subjects: Subject[]) => {
      const { outcome } = await worker.ensureJudged(subjects, PATIENCE_MS);
      const checks = await readChecks(database.read, subjects);
      return [
        outcome,
        ...subjects.map((one) => {
          const check = checks.get(subjectKey(one));
          return check ? [check.verdict, check.reason, check.source] : null;
        }),
      ];
    };
    const snapshot = async (): Promise<Snapshot> => {
      const now = (await readSnapshots(database.read)).get('Debian');
      if (!now) throw new Error('no snapshot');
      return now;
    };
    /** The regular export, with additional bad files. */
    const serve = (...odd: { name: string; content: string }[]) => {
      const sound = osv
        .all()
        .map((one) => ({ name: `${one.id}.json`, content: JSON.stringify(one) }))
        .filter(({ name }) => !odd.some((one) => one.name === name));
      files.files.set('Debian/all.zip', zipArchive([...sound, ...odd]));
    };
    const warnings = () => platform.lines.filter((line) => /^\[WARNING\] supply_chain/.test(line));
    const { clock } = platform;
    return { osv, files, clock, mirror, judged, snapshot, serve, warnings };
  }

  test.each(UNREADABLE)(
    '%s: nothing is called clear, affected packages stay vulnerable',
    async (_, content) => {
      const { mirror, judged, snapshot, serve, warnings } = await setUp();
      serve({ name: 'ODD-1.json', content });
      await mirror.refresh();
      expect((await snapshot()).unreadable).toEqual(['ODD-1']);
      expect(await judged(OPENSSL, ZLIB)).toEqual([
        'judged',
        ['vulnerable', null, 'mirror'],
        ['unchecked', 'undecidable', 'mirror'],
      ]);
      expect(warnings().at(-1)).toMatch(
        /^\[WARNING\] supply_chain illegible advisories: .* ecosystem=Debian records=1 named=ODD-1 /,
      );
    },
  );

  test('once it is readable in the export, the others are clear again without a new load', async () => {
    const { osv, mirror, judged, snapshot, serve, clock, files } = await setUp();
    serve({ name: 'ODD-1.json', content: '<html>' });
    await mirror.refresh();
    await judged(ZLIB);
    osv.addRecord({ id: 'ODD-1', modified: '2026-02-01T00:00:00Z' }, [{ ...CURL, all: true }]);
    clock.advance(QUARTER_MS);
    await mirror.refresh();
    expect((await snapshot()).unreadable).toEqual([]);
    expect(await judged(ZLIB, CURL)).toEqual([
      'judged',
      ['clear', null, 'mirror'],
      ['vulnerable', null, 'mirror'],
    ]);
    expect(files.requests.filter((path) => path.endsWith('.zip'))).toHaveLength(1);
  });

  test('once it was deleted, the others are clear again', async () => {
    const { osv, files, mirror, judged, serve, clock } = await setUp();
    serve({ name: 'ODD-1.json', content: '<html>' });
    await mirror.refresh();
    osv.addRecord({ id: 'ODD-1', modified: '2026-02-01T00:00:00Z' }, [{ ...CURL, all: true }]);
    files.files.set('Debian/ODD-1.json', null);
    clock.advance(QUARTER_MS);
    await mirror.refresh();
    expect(await judged(ZLIB)).toEqual(['judged', ['clear', null, 'mirror']]);
  });

  test.each(['<html>', ' '.repeat(ENTRY_BYTES)])(
    'changes skip a record that stays unreadable: later ones are applied',
    async (content) => {
      const { osv, files, mirror, judged, serve, clock, snapshot } = await setUp();
      serve({ name: 'ODD-1.json', content: '<html>' });
      await mirror.refresh();
      osv.addRecord({ id: 'ODD-1', modified: '2026-02-01T00:00:00Z' }, [{ ...CURL, all: true }]);
      osv.addRecord({ id: 'CVE-2', modified: '2026-02-02T00:00:00Z' }, [{ ...ZLIB, all: true }]);
      files.files.set('Debian/ODD-1.json', content);
      clock.advance(QUARTER_MS);
      await mirror.refresh();
      expect(await snapshot()).toMatchObject({ unreadable: ['ODD-1'], modifiedMark: '2026-02-02T00:00:00Z' });
      expect(await judged(ZLIB, CURL)).toEqual([
        'judged',
        ['vulnerable', null, 'mirror'],
        ['unchecked', 'undecidable', 'mirror'],
      ]);
    },
  );

  test('mirror+api: the API supplies the record during the load, and one bad record harms nothing', async () => {
    const { osv, mirror, judged, serve, snapshot, warnings } = await setUp('mirror+api');
    osv.addRecord({ id: 'ODD-1', modified: '2026-01-02T00:00:00Z' }, [{ ...CURL, all: true }]);
    serve({ name: 'ODD-1.json', content: '<html>' });
    await mirror.refresh();
    expect(osv.requests.map(({ path }) => path)).toEqual(['/v1/vulns/ODD-1']);
    expect(await snapshot()).toMatchObject({ unreadable: [], badRecords: 0 });
    expect(await judged(ZLIB, CURL)).toEqual([
      'judged',
      ['clear', null, 'mirror'],
      ['vulnerable', null, 'mirror'],
    ]);
    expect(warnings().filter((line) => line.includes('illegible'))).toHaveLength(1);
  });

  test('mirror+api: if the API cannot read it either, packages are queried one by one, and the record again next round', async () => {
    const { osv, mirror, judged, serve, snapshot, clock } = await setUp('mirror+api');
    serve({ name: 'ODD-1.json', content: '<html>' });
    await mirror.refresh();
    const before = await snapshot();
    expect(before.unreadable).toEqual(['ODD-1']);
    expect(await judged(OPENSSL, ZLIB)).toEqual([
      'judged',
      ['vulnerable', null, 'mirror'],
      ['clear', null, 'api'],
    ]);
    osv.addRecord({ id: 'ODD-1', modified: '2026-01-01T00:00:00Z' }, [{ ...ZLIB, all: true }]);
    clock.advance(QUARTER_MS);
    await mirror.refresh();
    const after = await snapshot();
    expect(after.unreadable).toEqual([]);
    expect(snapshotId(after)).not.toBe(snapshotId(before));
    expect(await judged(ZLIB)).toEqual(['judged', ['vulnerable', null, 'mirror']]);
  });

  test('mirror+api: with the API unreachable nothing is called clear (A2), and three failures end the round', async () => {
    const { osv, mirror, judged, serve, snapshot, clock } = await setUp('mirror+api');
    for (let n = 0; n < 400; n++)
      osv.addRecord({ id: `CVE-${n}`, modified: '2026-01-02T00:00:00Z' }, [{ ...OPENSSL, all: true }]);
    osv.mode = 'down';
    serve(...[1, 2, 3, 4].map((n) => ({ name: `ODD-${n}.json`, content: '<html>' })));
    await mirror.refresh();
    expect((await snapshot()).unreadable).toHaveLength(4);
    expect(new Set(osv.requests.map(({ path }) => path))).toEqual(
      new Set(['/v1/vulns/ODD-1', '/v1/vulns/ODD-2', '/v1/vulns/ODD-3']),
    );
    expect(await judged(OPENSSL, ZLIB)).toEqual(['unreachable', ['vulnerable', null, 'mirror'], null]);
    // The next round goes on behind them.
    const before = await snapshot();
    const earlier = osv.requests.length;
    clock.advance(QUARTER_MS);
    await mirror.refresh();
    expect(new Set(osv.requests.slice(earlier).map(({ path }) => path))).toEqual(
      new Set(['/v1/vulns/ODD-4', '/v1/vulns/ODD-1', '/v1/vulns/ODD-2']),
    );
    expect(await snapshot()).toMatchObject({ unreadable: ['ODD-3', 'ODD-4', 'ODD-1', 'ODD-2'] });
    expect(snapshotId(await snapshot())).toBe(snapshotId(before));
  });

  test('an archive with too many of them is rejected', async () => {
    const { mirror, serve, snapshot, clock, warnings } = await setUp();
    await mirror.refresh();
    const { loadId } = await snapshot();
    const odd = Array.from({ length: UNREADABLE_MAX + 1 }, (_, n) => ({
      name: `ODD-${n}.json`,
      content: '<html>',
    }));
    serve(...odd);
    clock.advance(WEEK_MS);
    await mirror.refresh();
    expect((await snapshot()).loadId).toBe(loadId);
    expect(warnings().at(-1)).toContain(`${odd.length} records may speak of any package`);
  });
});
