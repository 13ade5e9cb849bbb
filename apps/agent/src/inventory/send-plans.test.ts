import type { InventoryUpdate } from '@tidegate/protocol/agent-api';
import { Plan } from '@tidegate/protocol/plan';
import { Check } from 'typebox/value';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ONCE_PLANS_MAX, runLoop, runOnce } from '../polling/loop.ts';
import { createAgent, type TestAgent } from '../testing/agent-runtime.ts';
import { problem } from '../testing/scripted-server.ts';

let agent: TestAgent;
/** What the package manager was asked to plan, in order. */
let asked: string[];
beforeEach(async () => {
  agent = await createAgent();
  asked = [];
  const { plan } = agent.driver;
  agent.driver.plan = (paths, request) => {
    asked.push(...request.updates.map(({ name }) => name));
    return plan(paths, request);
  };
});
afterEach(() => agent.stop());

function offer(...updates: (Partial<InventoryUpdate> & { name: string })[]): void {
  const versions = { current_version: '1.0', available_version: '2.0' };
  agent.driver.scanned = {
    ...agent.driver.scanned,
    updates: updates.map((update) => ({ ...versions, ...update })),
  };
}

/** How many plans the server has of an update. */
function plansOf(name: string, arch = ''): number {
  const bodies = agent.server.received(`plans/${agent.server.updateIds.get(`${name}:${arch}`)}`);
  expect(bodies.every((body) => Check(Plan, body))).toBe(true);
  return bodies.length;
}

test('every update gets its plan, security updates first, and the report holds none', async () => {
  offer({ name: 'a' }, { name: 'b', security: true }, { name: 'c' }, { name: 'd', security: true });
  expect(await runOnce(agent.start())).toBeNull();
  expect(asked).toEqual(['b', 'd', 'a', 'c']);
  expect(['a', 'b', 'c', 'd'].map((name) => plansOf(name))).toEqual([1, 1, 1, 1]);
  expect(JSON.stringify(agent.server.received('inventory/apt'))).not.toContain('"plan"');
});

test('nothing is planned twice, also after a restart, until the report is another one', async () => {
  offer({ name: 'a' }, { name: 'b' });
  await runOnce(agent.start());
  const runtime = agent.start();
  await runOnce(runtime);
  await runOnce(runtime);
  expect(asked).toEqual(['a', 'b']);
  expect(agent.server.received('inventory/apt')).toHaveLength(1);
  offer({ name: 'a' }, { name: 'b', available_version: '3.0' });
  await runOnce(runtime);
  expect(asked).toEqual(['a', 'b', 'b']); // the plan of "a" stands
});

test('a changed report repeats the plans whose closure it changes, and those that failed', async () => {
  offer({ name: 'app' }, { name: 'lib' }, { name: 'other' }, { name: 'stuck' });
  const { plan } = agent.driver;
  agent.driver.plan = async (paths, request) => {
    const planned = await plan(paths, request);
    const [update] = request.updates;
    if (!planned.ok || update?.name === 'stuck') return { ok: false, reason: 'held back' };
    if (update?.name !== 'app') return planned;
    const lib = { action: 'remove' as const, name: 'lib', to_version: '2.0' };
    return { ok: true, plan: { ...planned.plan, actions: [...planned.plan.actions, lib] } };
  };
  await runOnce(agent.start());
  asked = [];
  offer({ name: 'app' }, { name: 'lib', available_version: '2.1' }, { name: 'other' }, { name: 'stuck' });
  await runOnce(agent.start()); // also after a restart
  expect(asked.toSorted()).toEqual(['app', 'lib', 'stuck']);
  asked = [];
  agent.driver.scanned = { ...agent.driver.scanned, packages: [{ name: 'other', version: '1.1' }] };
  await runOnce(agent.start());
  expect(asked.toSorted()).toEqual(['other', 'stuck']);
});

test('a server that names an update anew is sent its plan again with a changed report', async () => {
  offer({ name: 'a' }, { name: 'b' });
  await runOnce(agent.start());
  asked = [];
  agent.server.updateIds.delete('a:');
  offer({ name: 'a' }, { name: 'b' }, { name: 'c' });
  await runOnce(agent.start());
  expect(asked.toSorted()).toEqual(['a', 'c']);
});

test('every fourth plan is that of an update without security, however many others there are', async () => {
  const security = Array.from({ length: 9 }, (_, index) => ({ name: `s${index}`, security: true }));
  offer(...security, { name: 'x' }, { name: 'y' }, { name: 'z' });
  await runOnce(agent.start());
  expect(asked).toEqual('s0 s1 s2 x s3 s4 s5 y s6 s7 s8 z'.split(' '));
});

test('a run is bounded, and the next one goes on where it ended', async () => {
  const names = Array.from({ length: ONCE_PLANS_MAX + 25 }, (_, index) => `p${index}`);
  offer(...names.map((name) => ({ name })));
  await runOnce(agent.start());
  expect(asked).toHaveLength(ONCE_PLANS_MAX);
  await runOnce(agent.start());
  expect(asked.toSorted()).toEqual(names.toSorted());
});

test('a server that has lost the report is sent the plans again', async () => {
  await runOnce(agent.start());
  agent.server.digests.clear();
  await runOnce(agent.start());
  expect(plansOf('demo')).toBe(2);
});

test('a plan that turned out to be wrong is made anew', async () => {
  const runtime = agent.start();
  await runOnce(runtime);
  runtime.plans.forget();
  await runOnce(runtime);
  expect(plansOf('demo')).toBe(2);
});

test('an update that cannot be planned is not tried again, and the others are planned', async () => {
  offer({ name: 'stuck' }, { name: 'demo' });
  const { plan } = agent.driver;
  agent.driver.plan = async (paths, request) => {
    const planned = await plan(paths, request);
    return request.updates[0]?.name === 'stuck' ? { ok: false, reason: 'held back' } : planned;
  };
  await runOnce(agent.start());
  await runOnce(agent.start());
  expect([asked, plansOf('demo'), plansOf('stuck')]).toEqual([['stuck', 'demo'], 1, 0]);
  expect(agent.logged.join('')).toContain('reason="held back"');
});

test('a plan that the server refuses is left, one that does not arrive is sent later', async () => {
  offer({ name: 'refused' }, { name: 'lost' });
  agent.server.override = (path) => {
    if (path === `plans/${agent.server.updateIds.get('refused:')}`) return problem('not_found');
    return path === `plans/${agent.server.updateIds.get('lost:')}` ? problem('rate_limited') : null;
  };
  expect(await runOnce(agent.start())).toMatchObject({ kind: 'retryable' });
  agent.server.override = () => null;
  expect(await runOnce(agent.start())).toBeNull();
  expect([plansOf('refused'), plansOf('lost')]).toEqual([1, 2]);
});

test('one plan stands for all architectures only where it brings all of them', async () => {
  const archs = ['amd64', 'i386'];
  offer(...['both', 'one'].flatMap((name) => archs.map((arch) => ({ name, arch }))));
  agent.driver.plan = async (_, { updates }) => ({
    ok: true,
    plan: {
      resolved_at: '2026-01-01T00:00:00Z',
      actions: updates.flatMap(({ name, toVersion }) =>
        (name === 'both' ? archs : ['amd64']).map((arch) => ({
          ...{ action: 'remove' as const, name, arch, to_version: toVersion },
        })),
      ),
    },
  });
  await runOnce(agent.start());
  expect(archs.map((arch) => plansOf('both', arch))).toEqual([1, 1]);
  expect(archs.map((arch) => plansOf('one', arch))).toEqual([0, 0]);
});

test('the report arrives before the first plan is made, and a command waits for one plan at most', async () => {
  const stop = new AbortController();
  offer(...Array.from({ length: 30 }, (_, index) => ({ name: `p${index}` })));
  const story: string[] = [];
  const { plan, scan } = agent.driver;
  agent.driver.plan = (paths, request) => {
    story.push('plan');
    if (story.length === 3)
      agent.server.commands.push({ id: 'x', envelope: agent.fleet.command({ seq: 1 }) });
    return plan(paths, request);
  };
  agent.driver.scan = (paths) => {
    story.push('scan');
    return scan(paths);
  };
  agent.server.override = (path) => {
    if (path === 'inventory/apt') story.push('report');
    return null;
  };
  await runLoop(agent.start(), {
    signal: stop.signal,
    sleep: async (ms) => {
      if (ms > 1_000 && story.filter((what) => what === 'plan').length >= 30) stop.abort();
      await new Promise(setImmediate);
    },
  });
  expect(story.slice(0, 3)).toEqual(['scan', 'report', 'plan']);
  expect(story.indexOf('scan', 1)).toBeGreaterThan(3);
  expect(story.indexOf('scan', 1)).toBeLessThan(30);
  expect(story.filter((what) => what === 'plan')).toHaveLength(30);
});
