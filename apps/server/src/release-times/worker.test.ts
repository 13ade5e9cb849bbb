import { type FakeNpmMetadata, startFakeNpmMetadata } from '@tidegate/testkit/fake-npm-metadata';
import { type FakePypiMetadata, startFakePypiMetadata } from '@tidegate/testkit/fake-pypi-metadata';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { createRegistryClient } from './registry-client.ts';
import { readReleaseTimes } from './store.ts';
import type { AgeSubject } from './subjects.ts';
import { createReleaseTimes, UNKNOWN_RETRY_MS } from './worker.ts';

const OLD = '2026-11-01T00:00:00.000Z';
const NEW = '2026-11-20T00:00:00.000Z';
/** A registry that answers is awaited, however busy the machine is. */
const PATIENCE_MS = 30_000;
const WAIT_MS = 15_000;

async function setUp(engine: TestEngine, options: { queueMax?: number } = {}) {
  const npm: FakeNpmMetadata = await startFakeNpmMetadata();
  const pypi: FakePypiMetadata = await startFakePypiMetadata();
  const platform = createTestPlatform(await engine.open());
  const client = createRegistryClient({
    config: { npmRegistryUrl: npm.url, pypiUrl: pypi.url },
    now: platform.now,
    timeouts: { packumentMs: PATIENCE_MS, indexMs: PATIENCE_MS },
    sleep: async () => {},
  });
  const source = createReleaseTimes({ platform, client, ...options });
  onTestFinished(async () => {
    await source.stop();
    await npm.stop();
    await pypi.stop();
  });
  return {
    npm,
    pypi,
    platform,
    source,
    ensure: (subjects: readonly AgeSubject[], waitMs = WAIT_MS) => source.ensureTimed(subjects, waitMs),
    async stored(name: string, ecosystem = 'npm') {
      const rows = await readReleaseTimes(platform.database.read, { ecosystem, names: [name] });
      return Object.fromEntries(
        rows.map(({ version, artifact, published_at: at }) => [
          version + artifact.slice(0, 1),
          at && new Date(at).toISOString(),
        ]),
      );
    },
  };
}

const of = (name: string, version: string): AgeSubject => ({
  ecosystem: 'npm',
  name,
  version,
  artifact: null,
});
const file = (version: string, sha256: string): AgeSubject => ({
  ecosystem: 'pypi',
  name: 'pkg',
  version,
  artifact: { filename: 'pkg.whl', sha256: sha256.repeat(64) },
});

describe.each(ENGINES)('times of release (A7) on $name', (engine) => {
  test('versions of one package are one query, are stored with their source, and are never queried again', async () => {
    const it = await setUp(engine);
    it.npm.publish('left', '1.0.0', OLD);
    it.npm.publish('left', '2.0.0', NEW);
    const release = it.npm.hold();
    const first = it.ensure([of('left', '1.0.0'), of('left', '2.0.0')]);
    await expect.poll(() => it.npm.requests).toEqual(['/left']);
    // A second caller waits for the query in progress.
    expect((await it.ensure([of('left', '2.0.0')], 1)).npm).toBe('pending');
    release();
    expect((await first).npm).toBe('judged');
    expect(it.npm.requests).toEqual(['/left']);
    expect(await it.stored('left')).toEqual({ '1.0.0': OLD, '2.0.0': NEW });
    it.platform.clock.advance(UNKNOWN_RETRY_MS);
    expect((await it.ensure([of('left', '1.0.0')])).npm).toBe('judged');
    expect(it.npm.requests).toHaveLength(1);
    const rows = await readReleaseTimes(it.platform.database.read, { ecosystem: 'npm', names: ['left'] });
    expect(rows.map(({ source }) => source)).toEqual([it.npm.url, it.npm.url]);
  });

  test('a version without a time is stored as unknown, and queried again after a while', async () => {
    const it = await setUp(engine);
    it.npm.publish('left', '1.0.0', '2026-11-21T09:00:01Z');
    expect((await it.ensure([of('left', '1.0.0')])).npm).toBe('judged');
    expect(await it.stored('left')).toEqual({ '1.0.0': null });
    it.platform.clock.advance(UNKNOWN_RETRY_MS - 1);
    await it.ensure([of('left', '1.0.0')]);
    expect(it.npm.requests).toHaveLength(1);
    it.platform.clock.advance(1);
    await it.ensure([of('left', '1.0.0')]);
    expect(await it.stored('left')).toEqual({ '1.0.0': '2026-11-21T09:00:01.000Z' });
  });

  test('each file of a Python version has its own time', async () => {
    const it = await setUp(engine);
    it.pypi.publish('pkg', '1.0', [
      { filename: 'pkg-1.0.whl', sha256: 'a'.repeat(64), uploadedAt: OLD },
      { filename: 'pkg-1.0.tar.gz', sha256: 'b'.repeat(64), uploadedAt: NEW },
    ]);
    expect(await it.ensure([file('1.0', 'a'), file('1.0', 'b')])).toEqual({ npm: 'judged', pypi: 'judged' });
    expect(it.pypi.requests).toHaveLength(1);
    expect(await it.stored('pkg', 'pypi')).toEqual({ '1.0a': OLD, '1.0b': NEW });
    // A file added later is queried, whatever is known of the others.
    it.pypi.publish('pkg', '1.0', [{ filename: 'new.whl', sha256: 'c'.repeat(64), uploadedAt: NEW }]);
    await it.ensure([file('1.0', 'c')]);
    expect(await it.stored('pkg', 'pypi')).toMatchObject({ '1.0c': NEW });
  });

  test.each([
    ['an older time', OLD, NEW],
    ['a newer time', '2026-11-20T12:00:00.000Z', '2026-11-20T12:00:00.000Z'],
    ['no time', undefined, NEW],
  ])(
    'a registry that now gives %s: the newest ever seen stays, and a change is logged',
    async (_what, at, kept) => {
      const it = await setUp(engine);
      it.npm.publish('left', '1.0.0', NEW);
      await it.ensure([of('left', '1.0.0')]);
      it.npm.publish('left', '1.0.0', at);
      it.npm.publish('left', '2.0.0', OLD);
      await it.ensure([of('left', '2.0.0')]);
      expect(await it.stored('left')).toEqual({ '1.0.0': kept, '2.0.0': OLD });
      const told = it.platform.lines.filter((line) =>
        line.startsWith('[WARNING] package_age time of release changed'),
      );
      expect(told).toHaveLength(at === undefined ? 0 : 1);
    },
  );

  test.each(['down', 'failing', 'garbage'] as const)(
    'a registry that is %s is unreachable, and one [WARNING] with package_age says so',
    async (mode) => {
      const it = await setUp(engine);
      it.npm.mode = mode;
      expect(await it.ensure([of('left', '1.0.0')])).toEqual({ npm: 'unreachable', pypi: 'judged' });
      expect(it.source.outcomes()).toEqual({ npm: 'unreachable', pypi: 'pending' });
      expect(it.platform.lines.filter((line) => line.startsWith('[WARNING] package_age'))).toHaveLength(1);
      expect(await it.stored('left')).toEqual({});
      it.npm.mode = 'up';
      it.npm.publish('left', '1.0.0', OLD);
      expect((await it.ensure([of('left', '1.0.0')])).npm).toBe('judged');
      expect(it.source.outcomes().npm).toBe('pending');
    },
  );

  test('a query beyond the wait is pending unless the source has failed before', async () => {
    const it = await setUp(engine);
    it.npm.publish('left', '1.0.0', OLD);
    const release = it.npm.hold();
    expect((await it.ensure([of('left', '1.0.0')], 20)).npm).toBe('pending');
    release();
    expect((await it.ensure([of('left', '1.0.0')])).npm).toBe('judged');
    expect(it.npm.requests).toHaveLength(1);
  });

  test('a source that failed repeatedly is not queried for a while', async () => {
    const it = await setUp(engine);
    it.npm.mode = 'garbage';
    const names = Array.from({ length: 60 }, (_, i) => of(`p${i}`, '1.0.0'));
    expect((await it.ensure(names)).npm).toBe('unreachable');
    expect(it.npm.requests.length).toBeLessThan(12);
    it.npm.mode = 'up';
    it.platform.clock.advance(2_000);
    expect((await it.ensure(names)).npm).toBe('judged');
  });

  test('subjects past the queue limit are pending, and are queried the next time', async () => {
    const it = await setUp(engine, { queueMax: 5 });
    const release = it.npm.hold();
    const names = Array.from({ length: 50 }, (_, i) => of(`p${i}`, '1.0.0'));
    const asked = it.ensure(names);
    release();
    expect((await asked).npm).toBe('pending');
    expect(it.npm.requests.length).toBeLessThan(20);
    for (const { name } of names) it.npm.publish(name, '1.0.0', OLD);
    for (let left = 50; left > 0; left -= 5) await it.ensure(names);
    expect((await it.ensure(names)).npm).toBe('judged');
  });

  test('stop ends every wait and all queries, and no registry counts as failed', async () => {
    const it = await setUp(engine);
    it.npm.mode = 'hang';
    const waiting = it.ensure([of('left', '1.0.0')], 60_000);
    await expect.poll(() => it.npm.requests.length).toBe(1);
    await it.source.stop();
    expect((await waiting).npm).toBe('pending');
    expect((await it.ensure([of('left', '2.0.0')])).npm).toBe('pending');
    expect(it.npm.requests).toHaveLength(1);
  });
});
