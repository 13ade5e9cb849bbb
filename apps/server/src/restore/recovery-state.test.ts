import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, onTestFinished, test } from 'vitest';
import { markFamilyRevoked } from '../agent-credentials/store.ts';
import { insertFleet } from '../signing-keys/store.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { believeClock, jumpAhead } from '../testing/jumping-clock.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { readEpochFile } from './epoch-file.ts';
import { recover } from './recover.ts';
import { createRecoveryState, JOURNAL_KEPT_MS } from './recovery-state.ts';
import { openJournal } from './revocation-journal.ts';
import { countLiveServers } from './store.ts';

const NO_KEYS = { key_sets: [], roots: [] };

async function open(engine: TestEngine) {
  const platform = createTestPlatform(await engine.open());
  const { database } = platform;
  const fleet = { fleet_id: platform.newId(), epoch: 1, created_at: platform.now() };
  await database.transact((tx) => insertFleet(tx, fleet));
  const replica = () => {
    const folder = tmpDir();
    onTestFinished(() => folder.remove());
    const opened = openJournal(folder.path);
    if (!opened.ok) throw new Error(opened.fault);
    const { journal } = opened;
    onTestFinished(journal.close);
    const state = createRecoveryState({
      platform,
      dataDir: folder.path,
      journal,
      onRestored: (file) => recover(platform, { file, keys: NO_KEYS, journal, held: new Set() }),
    });
    const file = () => {
      const read = readEpochFile(folder.path);
      return read.ok ? read.file : null;
    };
    return { state, journal, file };
  };
  return { platform, database, replica };
}

describe.each(ENGINES)('T20: what a server on $name writes down while it runs', (engine) => {
  test('rises with each turn, and says that the server is alive until it stops', async () => {
    const { platform, database, replica } = await open(engine);
    const { state, file } = replica();
    await state.record();
    const first = file();
    await state.record();
    expect(first).toMatchObject({ epoch: 1, mark: 1 });
    expect(file()).toMatchObject({ epoch: 1, mark: 2 });
    expect(await countLiveServers(database.read, platform.now())).toBe(1);
    await state.stop();
    expect(file()?.mark).toBe(3);
    expect(await countLiveServers(database.read, platform.now())).toBe(0);
  });

  test('a database that falls back under the running server begins a new epoch at once', async () => {
    const { platform, database, replica } = await open(engine);
    const { state, file } = replica();
    await state.record();
    await state.record();
    // A standby that had not everything was promoted.
    await database.transact((tx) => tx.updateTable('fleet_marks').set({ mark: 1 }).execute());
    await state.record();
    expect(file()?.epoch).toBe(2);
    expect(
      platform.lines.some((line) => /^\[ERROR\] THE DATABASE WAS RESTORED.* sign=older_state/.test(line)),
    ).toBe(true);
    await state.record();
    expect(file()?.epoch).toBe(2);
  });

  test('what another replica revoked is in the journal of each', async () => {
    const { database, replica } = await open(engine);
    const [a, b] = [replica(), replica()];
    const { familyId } = await insertTestAgent(database, { n: 1 });
    await a.state.record();
    await b.state.record();
    const atMs = Date.UTC(2026, 10, 21, 9);
    await database.transact((tx) => markFamilyRevoked(tx, { familyId, reason: 'operator', atMs }));
    for (const { state, journal } of [a, b]) {
      expect(journal.has('family', familyId)).toBe(false);
      await state.record();
      expect(journal.has('family', familyId, atMs)).toBe(true);
    }
  });

  test('drops from the journal what is old and gone, and nothing else', async () => {
    const { platform, database, replica } = await open(engine);
    const { state, journal } = replica();
    const { familyId, agentId } = await insertTestAgent(database, { n: 1 });
    const now = platform.now();
    const [old, fresh] = [now - JOURNAL_KEPT_MS - 1, now - JOURNAL_KEPT_MS + 1];
    const gone = (n: number) => `01900000-0000-7000-9000-00000000ff0${n}`;
    journal.append([
      { kind: 'family', id: familyId, atMs: old },
      { kind: 'agent', id: agentId, atMs: old },
      { kind: 'family', id: gone(1), atMs: old },
      { kind: 'key', id: gone(2), atMs: old },
      { kind: 'family', id: gone(3), atMs: fresh },
    ]);
    platform.clock.advance(-JOURNAL_KEPT_MS);
    await jumpAhead(platform, JOURNAL_KEPT_MS);
    await state.compact();
    expect(journal.entries()).toHaveLength(5);
    await believeClock(platform);
    await state.compact();
    expect(journal.entries().map(({ id }) => id)).toEqual([familyId, agentId, gone(3)]);
  });
});
