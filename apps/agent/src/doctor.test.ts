import { writeFileSync } from 'node:fs';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { examine } from './doctor.ts';
import { saveExecutorState } from './jobs/executor-state.ts';
import { timestamp } from './platform/clock.ts';
import { createAgent, type TestAgent } from './testing/agent-runtime.ts';
import { NOW_MS } from './testing/fleet.ts';
import { hostRoot } from './testing/host-root.ts';

let agent: TestAgent;
beforeEach(async () => {
  agent = await createAgent();
});
afterEach(() => agent.stop());

const facts = { uid: 0, unshare: '/usr/bin/unshare', hasPathUnit: false };

function findings(root = '/') {
  const { policy } = agent.start();
  return examine(agent.folder, { drivers: [agent.driver], facts, nowMs: NOW_MS, policy, root });
}

test('reports old package sources and what to do about them', async () => {
  expect((await findings()).map(({ check }) => check)).not.toContain('apt sources');
  const staleness = 'apt-get update last succeeded 9 days ago';
  agent.driver.examineLists = async () => ({ ageMs: null, staleness });
  const detail = expect.stringContaining('9 days ago');
  expect(await findings()).toContainEqual({ check: 'apt sources', ok: false, detail });
});

test('reports no sources for a missing package manager', async () => {
  agent.driver.present = async () => false;
  agent.driver.examineLists = async () => ({ ageMs: null, staleness: 'old' });
  expect((await findings()).map(({ check }) => check)).not.toContain('apt sources');
});

test.each([
  [{ 'etc/machine-id': 'm-1' }, { ok: true, detail: 'from machine-id' }],
  [{}, { ok: false, detail: expect.stringContaining('ENOENT') }],
  [
    { 'etc/machine-id': 'm-1', '.dockerenv': '' },
    { ok: true, isDoubtful: true, detail: expect.stringContaining('this is a container') },
  ],
])('names the source of the machine id and warns when it is shared (T3): %j', async (files, finding) => {
  using host = hostRoot(files);
  expect(await findings(host.root)).toContainEqual({ check: 'machine id', ...finding });
});

test('shows the host’s policy, and finds one that cannot be followed', async () => {
  const detail = (said: string) => expect.stringContaining(said);
  expect(await findings()).toContainEqual({ check: 'host policy', ok: true, detail: detail('none') });
  const { path } = agent.start().policy;
  writeFileSync(path, JSON.stringify({ v: 1, never_touch: { apt: ['linux-*'] } }));
  expect(await findings()).toContainEqual({ check: 'host policy', ok: true, detail: detail('apt linux-*') });
  writeFileSync(path, '{}');
  expect(await findings()).toContainEqual({
    check: 'host policy',
    ok: false,
    detail: detail('cannot be followed'),
  });
});

test.each([
  ['no source', null, { ok: true, detail: expect.stringContaining('by hand: no source of apt or dnf') }],
  [
    'its own server',
    'own',
    { ok: true, detail: expect.stringMatching(/tidegate\.sources offers those of http/) },
  ],
  [
    'another server',
    'https://other.example/agents',
    {
      ok: true,
      isDoubtful: true,
      detail: expect.stringMatching(
        /tidegate\.sources offers those of https:\/\/other\.example\/agents, not of http.*enrol --replace/,
      ),
    },
  ],
])(
  'says where updates of the agent come from, and warns of a source that is not its server’s: %s',
  async (_, url, finding) => {
    const own = `${agent.start().config.current().server_url}/agents`;
    const sources = `Types: deb\nURIs: ${url === 'own' ? own : url}\n`;
    using host = hostRoot(url === null ? {} : { 'etc/apt/sources.list.d/tidegate.sources': sources });
    expect(await findings(host.root)).toContainEqual({ check: 'updates of the agent', ...finding });
  },
);

test('says that no update of the agent is taken where the policy says so, whatever the sources offer', async () => {
  writeFileSync(agent.start().policy.path, JSON.stringify({ v: 1, agent_updates: 'never' }));
  using host = hostRoot({
    'etc/apt/sources.list.d/tidegate.sources': 'URIs: https://other.example/agents\n',
  });
  const detail = 'by hand only, as the policy of this host says';
  expect(await findings(host.root)).toContainEqual({ check: 'updates of the agent', ok: true, detail });
});

test('shows the age of the newest signed state and warns after three intervals (T12)', async () => {
  expect(await findings()).toContainEqual({ check: 'signed state', ok: true, detail: 'none received yet' });
  const { journal, policy } = agent.start();
  journal.noteState({ epoch: 1, server_time: timestamp(NOW_MS - 180_000) });
  const fresh = expect.stringContaining('180 s ago');
  expect(await findings()).toContainEqual({ check: 'signed state', ok: true, detail: fresh });
  const found = await examine(agent.folder, { drivers: [], facts, nowMs: NOW_MS + 1_000, policy });
  const detail = expect.stringContaining('181 s ago: no contact');
  expect(found).toContainEqual({ check: 'signed state', ok: true, isDoubtful: true, detail });
});

test('shows the executor’s last state and the limit for the next, and warns of a slow clock', async () => {
  using folder = tmpDir();
  const { config, policy } = agent.start();
  const { trusted_keys, agent_id } = config.current();
  const place = { ...config.current().paths, executor_state: folder.path };
  config.change({ paths: place });
  const seen = (at: number | null) => {
    saveExecutorState(folder.path, {
      ...{ v: 1, fleet_id: trusted_keys.fleet_id, agent_id, machine_id_source: 'machine-id', trusted_keys },
      places: {},
      ...(at === null ? {} : { newest_state: timestamp(at) }),
    });
    return findings();
  };
  const check = 'state of the last job';
  const said = (text: string) => expect.stringContaining(text);
  expect(await seen(null)).toContainEqual({
    check,
    ok: true,
    detail: said('none yet; an installation needs'),
  });
  writeFileSync(policy.path, JSON.stringify({ v: 1, state_max_age_minutes: 30 }));
  expect(await seen(NOW_MS - 90_000)).toContainEqual({ check, ok: true, detail: said('90 s ago') });
  expect(await seen(NOW_MS - 90_000)).toContainEqual({ check, ok: true, detail: said('the last 30 min') });
  const behind = { check, ok: true, isDoubtful: true, detail: said('clock of this host is behind') };
  expect(await seen(NOW_MS + 600_000)).toContainEqual(behind);
});
