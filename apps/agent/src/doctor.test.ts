import { afterEach, beforeEach, expect, test } from 'vitest';
import { examine } from './doctor.ts';
import { createAgent, type TestAgent } from './testing/agent-runtime.ts';
import { NOW_MS } from './testing/fleet.ts';

let agent: TestAgent;
beforeEach(async () => {
  agent = await createAgent();
});
afterEach(() => agent.stop());

function findings() {
  const facts = { uid: 0, unshare: '/usr/bin/unshare', hasPathUnit: false };
  return examine(agent.folder, { drivers: [agent.driver], facts, nowMs: NOW_MS });
}

test('old package sources are found, with what to do about them', async () => {
  expect((await findings()).map(({ check }) => check)).not.toContain('apt sources');
  agent.driver.findStaleness = async () => 'apt-get update last succeeded 9 days ago';
  const detail = expect.stringContaining('9 days ago');
  expect(await findings()).toContainEqual({ check: 'apt sources', ok: false, detail });
});

test('a package manager that is not there has no sources', async () => {
  agent.driver.present = async () => false;
  agent.driver.findStaleness = async () => 'old';
  expect((await findings()).map(({ check }) => check)).not.toContain('apt sources');
});
