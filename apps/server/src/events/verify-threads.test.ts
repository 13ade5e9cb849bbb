import { describe, expect, onTestFinished, test } from 'vitest';
import { MIGRATIONS } from '../migrations.ts';
import { migrate } from '../platform/db/migrate.ts';
import { openDatabase } from '../platform/db/open.ts';
import { databaseOptions } from '../testing/database-options.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { appendEvent } from './append-event.ts';
import { verifyDatabase } from './verify-database.ts';
import { withVerifiers } from './verify-threads.ts';

async function open(engine: TestEngine) {
  const place = await engine.place();
  const database = openDatabase(place, databaseOptions());
  onTestFinished(() => database.close());
  await migrate(database, { migrations: MIGRATIONS, now: Date.now });
  const platform = createTestPlatform(database);
  await database.transact(async (tx) => {
    for (let n = 0; n < 1_200; n++)
      await appendEvent(tx, platform, {
        ...{ kind: 'security', type: 'MACHINE_BOUND', severity: 'info', component: 'agents', content: { n } },
      });
  });
  return { place, database };
}

describe.each(ENGINES)('threads on $name', (engine) => {
  test('verify the parts of a log, each with a connection of its own', async () => {
    const { place, database } = await open(engine);
    const parts = await withVerifiers(place, 3, (verifiers) =>
      Promise.all(
        verifiers.map((verify, i) => verify({ after: i * 400, until: (i + 1) * 400, pinned: [i * 400 + 7] })),
      ),
    );
    expect(parts.map((part) => part?.to.position)).toEqual([400, 800, 1_200]);
    expect(parts.map((part) => part?.noted.map(({ position }) => position))).toEqual([[7], [407], [807]]);
    expect(parts[1]?.from).toEqual({ position: 400, hash: parts[0]?.to.hash });
    const options = { trusted: { keys: [], revokedAtMs: new Map() }, lines: [], heads: [], partRows: 100 };
    const walked = await withVerifiers(place, 2, (verifiers) =>
      verifyDatabase(database.read, { ...options, verifiers }),
    );
    expect(walked).toEqual(await verifyDatabase(database.read, options));
    expect(walked).toMatchObject({ fault: null, rows: 1_200 });
  });

  test('that end leave the rest to the walk', async () => {
    const { database } = await open(engine);
    const nowhere = { dataDir: '/nowhere', databaseUrl: null };
    const walked = await withVerifiers(nowhere, 2, async (verifiers) => {
      expect(await verifiers[0]?.({ after: 0, until: 9, pinned: [] })).toBeNull();
      expect(await verifiers[0]?.({ after: 0, until: 9, pinned: [] })).toBeNull();
      return verifyDatabase(database.read, {
        ...{ trusted: { keys: [], revokedAtMs: new Map() }, lines: [], heads: [], verifiers },
      });
    });
    expect(walked).toMatchObject({ fault: null, rows: 1_200 });
  });
});
