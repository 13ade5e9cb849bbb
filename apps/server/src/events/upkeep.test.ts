import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createCheckpointSigner } from '../testing/checkpoint-signer.ts';
import { ENGINES } from '../testing/engines.ts';
import { EVENT } from '../testing/event-chains.ts';
import { createTestApp } from '../testing/test-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { appendEvent } from './append-event.ts';
import { removeEvents } from './prune-events.ts';
import { newestCheckpoint, oldestEvent } from './store.ts';
import { createEventUpkeep } from './upkeep.ts';

const DAY_MS = 86_400_000;

describe.each(ENGINES)('upkeep of the log on $name', (engine) => {
  test('a listening server signs the head into the table and the file in its data folder (16.4.2)', async () => {
    const app = await createTestApp(engine, { host: '127.0.0.1', port: 0 });
    await app.listen();
    const read = app.platform.database.read;
    await expect.poll(() => newestCheckpoint(read)).not.toBeNull();
    const checkpoint = await newestCheckpoint(read);
    const file = readFileSync(join(app.config.dataDir, 'event-checkpoints.ndjson'), 'utf8');
    expect(file).toBe(`${checkpoint?.envelope}\n`);
  });

  async function open(retentionDays: number | null) {
    const platform = createTestPlatform(await engine.open());
    const { database, lines } = platform;
    const signer = createCheckpointSigner();
    const file = { path: '', append: () => {}, tail: () => [] };
    const once = async (isDone: () => Promise<boolean>) => {
      const upkeep = createEventUpkeep({
        ...{ platform, signer, trusted: () => signer.trusted, file, retentionDays },
      });
      upkeep.start();
      await expect.poll(isDone).toBe(true);
      await upkeep.stop();
    };
    await database.transact((tx) => appendEvent(tx, platform, EVENT));
    await once(async () => (await newestCheckpoint(database.read)) !== null);
    await database.transact((tx) => appendEvent(tx, platform, EVENT));
    platform.clock.advance(40 * DAY_MS);
    return { platform, database, lines, once, signer };
  }

  test('prunes if a retention is set', async () => {
    const { database, lines, once } = await open(30);
    await once(async () => (await oldestEvent(database.read))?.position === 2);
    expect(lines.join('\n')).toContain('events pruned removed=1');
  });

  test('goes on with a removal that ended in the middle, also without a retention', async () => {
    const { platform, database, once, signer } = await open(null);
    const how = { signer, trusted: signer.trusted, isStopped: () => true };
    const checkpoint = await newestCheckpoint(database.read);
    if (checkpoint === null) throw new Error('nothing is signed');
    const wanted = { checkpoint, signedBeforeMs: platform.now(), by: 'cli', retentionDays: null };
    expect(await removeEvents(platform, how, wanted)).toEqual({ removed: 0, refused: null });
    expect((await oldestEvent(database.read))?.position).toBe(1);
    await once(async () => (await oldestEvent(database.read))?.position === 2);
  });

  test('keeps everything without one', async () => {
    const { database, once } = await open(null);
    await once(async () => (await newestCheckpoint(database.read))?.position === 2);
    expect((await oldestEvent(database.read))?.position).toBe(1);
  });

  test('reports a log that ends before its last checkpoint', async () => {
    const { database, lines, once } = await open(null);
    await database.transact((tx) => tx.updateTable('events_head').set({ position: 0, hash: null }).execute());
    await once(async () => lines.some((line) => line.includes('doctor --verify-events')));
  });
});
