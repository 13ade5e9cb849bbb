import { afterEach, beforeEach, expect, test } from 'vitest';
import { runOnce } from '../polling/loop.ts';
import { createAgent, type TestAgent } from '../testing/agent-runtime.ts';
import { problem } from '../testing/scripted-server.ts';
import { openTagReport, sendTags } from './send-tags.ts';

let agent: TestAgent;
beforeEach(async () => {
  agent = await createAgent();
});
afterEach(() => agent.stop());

const reported = () => agent.server.received('tags');

test('a round reports the tags of the configuration with the prefix of hosts, once after each start', async () => {
  for (const tags of [['role=web', 'dc=wien'], []]) {
    const runtime = agent.start({ tags: openTagReport(tags) });
    expect(await runOnce(runtime)).toBeNull();
    expect(await runOnce(runtime)).toBeNull();
  }
  expect(reported()).toEqual([{ tags: ['host.role=web', 'host.dc=wien'] }, { tags: [] }]);
});

test('without tags in the configuration nothing is sent', async () => {
  expect(await runOnce(agent.start({ tags: openTagReport(undefined) }))).toBeNull();
  expect(reported()).toEqual([]);
});

test('an unreachable server gets them later; what it refuses is not sent again', async () => {
  const runtime = agent.start({ tags: openTagReport(['role=web']) });
  agent.server.override = (path) => (path === 'tags' ? 'hang up' : null);
  expect(await sendTags(runtime)).toMatchObject({ kind: expect.any(String) });
  expect(runtime.tags.unsent()).not.toBeNull();
  agent.server.override = (path) => (path === 'tags' ? problem('invalid_request') : null);
  expect(await sendTags(runtime)).toBeNull();
  expect(runtime.tags.unsent()).toBeNull();
});
