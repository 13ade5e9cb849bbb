import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RollbackAnswer } from '@tidegate/protocol/rollbacks';
import { generatePrivateKeyHex } from '@tidegate/signing/sign';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, onTestFinished, test } from 'vitest';
import { signerOfKey } from '../scripts/release/release-signer.ts';
import { NEEDED, nameRepository } from './harness/agent-on-dnf.ts';
import { dnfStoryMissing, enrolledDnfHost } from './harness/dnf-host.ts';
import { must } from './harness/host.ts';
import { Blocked, expectAnswer } from './harness/operator.ts';
import { buildSmallAgents } from './harness/small-agents.ts';
import { storyEngines } from './harness/story-engines.ts';
import { createWorld } from './harness/world.ts';

const missing = dnfStoryMissing();
const STORY_MAX_MS = 300_000;
const REASON = 'released by us';

describe.skipIf(missing !== null).each(storyEngines('sqlite'))(
  `the update of the agent on a dnf host${missing === null ? '' : ` (${missing})`}, on $name`,
  (engine) => {
    test('stops at the gate, is overridden with a reason, installed from signed files alone, and rolled back', {
      timeout: STORY_MAX_MS,
    }, async () => {
      const { place, publicAsc } = await buildReleases();
      const serve = (release: string) => {
        rmSync(place('served'), { recursive: true, force: true });
        cpSync(place(release), place('served'), { recursive: true });
      };
      serve('now');
      const env = { SERVICE_SWEEP_INTERVAL_SECONDS: '1', SERVICE_AGENTS_DIR: place('served') };
      const world = await createWorld(engine, env);
      const { operator } = world;
      const host = await enrolledDnfHost(world, {
        packages: [NEEDED],
        publish: async (made) => {
          await nameRepository(made, { serverUrl: world.server.url, publicAsc });
          await made.dnf('install', 'tidegate-agent');
        },
      });
      const installed = async () => (await host.dnf.installed()).find((name) => name.startsWith('tidegate-'));
      const state = async (id: string) => (await operator.update(id)).state;
      expect(await installed()).toBe('tidegate-agent 0:0.1.0-1');

      serve('next');
      must(await host.runOnce());
      const [update] = await operator.updates({ name: 'tidegate-agent' });
      const id = update?.id ?? '';
      expect(update?.available_version).toBe('0:0.2.0-1');
      expect(expectAnswer(await operator.approve(id), 409, Blocked).blocked_by).toBe('unchecked');
      await operator.approved(id, { override_supply_chain: true, override_reason: REASON });
      must(await host.runOnce());
      expect([await installed(), await state(id)]).toEqual(['tidegate-agent 0:0.2.0-1', 'installed']);

      const body = { update_ids: [id], reason: 'not for us' };
      const answer = await operator.call('POST', '/api/v1/updates/rollback', body);
      const back = expectAnswer(answer, 200, RollbackAnswer).requested[0]?.update_id ?? '';
      must(await host.runOnce());
      await expect.poll(() => state(back), { interval: 500 }).toBe('pending');
      await operator.approved(back, { override_supply_chain: true, override_reason: REASON });
      must(await host.runOnce());
      expect([await installed(), await state(back)]).toEqual(['tidegate-agent 0:0.1.0-1', 'installed']);
    });
  },
);

/** Two releases of a small agent, of which the second can go back to the first. */
async function buildReleases() {
  const folder = tmpDir('tidegate-agents-dnf-');
  onTestFinished(() => folder.remove());
  const place = (name: string) => join(folder.path, name);
  writeFileSync(place('release.key'), generatePrivateKeyHex(new Uint8Array(32).fill(7)));
  const epochSeconds = 1_790_000_000;
  const signer = await signerOfKey(place('release.key'), epochSeconds);
  await buildSmallAgents(place('now'), { version: '0.1.0', signer, epochSeconds });
  await buildSmallAgents(place('next'), { version: '0.2.0', signer, epochSeconds, earlier: [place('now')] });
  return { place, publicAsc: readFileSync(place('now/release.asc'), 'utf8') };
}
