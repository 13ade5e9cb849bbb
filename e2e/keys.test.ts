import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { must } from './harness/host.ts';
import { createKeyScene, keySetOf } from './harness/key-scene.ts';
import { startServer } from './harness/server-process.ts';
import { storyEngines } from './harness/story-engines.ts';

/** How long a running server may take to notice a change of keys: the age of its state document. */
const NOTICED_WITHIN_MS = 10_000;
/** The interval of polling, and the slack for the load of this machine. */
const LOOK_MS = 250;
const SLACK_MS = 2_000;

async function activeVersions(url: string): Promise<number[]> {
  const answer = await fetch(`${url}/api/v1/public-keys`);
  const body: { keys: { version: number }[] } = JSON.parse(await answer.text());
  return body.keys.map(({ version }) => version);
}

/** How long the server takes to return these versions. */
async function noticed(url: string, versions: number[]): Promise<number> {
  const startedMs = performance.now();
  for (;;) {
    if (JSON.stringify(await activeVersions(url)) === JSON.stringify(versions))
      return performance.now() - startedMs;
    if (performance.now() - startedMs > 4 * NOTICED_WITHIN_MS) return Number.POSITIVE_INFINITY;
    await new Promise((resolve) => void setTimeout(resolve, LOOK_MS));
  }
}

describe.each(storyEngines('sqlite'))('keys on $name', (engine) => {
  test('E8: a host that was offline during 5 rotations, revocations and restarts recovers by itself', async () => {
    const { server, operator, enrolled } = await createKeyScene(engine);
    const host = await enrolled('sleeper');
    expect(await keySetOf(host)).toBe(1);
    for (let version = 2; version <= 6; version += 1) {
      await operator.addKey();
      await operator.useKey(version);
      await operator.revokeKey(version - 1);
      await server.restart(); // removes the revoked private key from memory
    }
    must(await host.runOnce());
    expect(await keySetOf(host)).toBe(16);
    must(await host.runOnce());
    expect((await operator.keys())[0]).toMatchObject({ version: 6, in_use: true, trusted_by: 1 });
    expect(await operator.events({ type: 'AGENT_ERROR' })).toEqual([]);
    expect(await operator.events({ type: 'COMMAND_REFUSED' })).toEqual([]);
  });

  test('running servers follow the command line within ten seconds, whichever process changed the keys', async () => {
    const scene = await createKeyScene(engine);
    const { server, shell, dataDir, folder } = scene;
    const urls = [server.url];
    const { SERVICE_DATABASE_URL: databaseUrl = null } = scene.names;
    const replicaDir = join(folder, 'replica');
    if (databaseUrl !== null) {
      // Copies the first key to a second server, as an operator does.
      mkdirSync(join(replicaDir, 'keys'), { recursive: true });
      copyKeys(dataDir, replicaDir);
      const env = { SERVICE_ADVISORY_SOURCE: 'off' };
      const replica = await startServer({
        dataDir: replicaDir,
        databaseUrl,
        advisoryUrl: 'http://127.0.0.1:9',
        env,
      });
      onTestFinished(async () => void (await replica.stop()));
      urls.push(replica.url);
    }
    for (const url of urls) expect(await activeVersions(url)).toEqual([1]);
    const added = await shell('tidegate keys add');
    expect(added.code, added.stderr).toBe(0);
    if (databaseUrl !== null) copyKeys(dataDir, replicaDir);
    for (const took of await Promise.all(urls.map((url) => noticed(url, [2, 1])))) {
      expect(took).toBeLessThan(NOTICED_WITHIN_MS + SLACK_MS);
    }
    const changed = await shell('tidegate keys use 2 && tidegate keys revoke 1');
    expect(changed.code, changed.stderr).toBe(0);
    for (const took of await Promise.all(urls.map((url) => noticed(url, [2])))) {
      expect(took).toBeLessThan(NOTICED_WITHIN_MS + SLACK_MS);
    }
  });
});

function copyKeys(from: string, to: string): void {
  for (const name of readdirSync(join(from, 'keys')))
    copyFileSync(join(from, 'keys', name), join(to, 'keys', name));
}
