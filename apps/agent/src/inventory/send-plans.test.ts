import { type InventoryUpdate, PlanReport } from '@tidegate/protocol/agent-api';
import { Value } from 'typebox/value';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ONCE_PLANS_MAX, runLoop, runOnce } from '../polling/loop.ts';
import { createAgent, type TestAgent } from '../testing/agent-runtime.ts';
import { problem } from '../testing/scripted-server.ts';

let agent: TestAgent;
/** What the package manager was asked to plan, in order; joint transactions apart. */
let asked: string[];
let askedJointly: string[];
beforeEach(async () => {
  agent = await createAgent();
  [asked, askedJointly] = [[], []];
  const { plan } = agent.driver;
  agent.driver.plan = (paths, request) => {
    const names = request.updates.map(({ name }) => name);
    if (names.length > 1) askedJointly.push(names.join(' '));
    else asked.push(...names);
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

/** The sets of each plan report, by the names of the updates. */
function sentSets(): string[][][] {
  const names = new Map([...agent.server.updateIds].map(([key, id]) => [id, key.replace(/:$/, '')]));
  return agent.server.received('plans').map((body) => {
    const { sets } = Value.Parse(PlanReport, body);
    return sets.map((set) => set.map((id) => names.get(id) ?? id));
  });
}

/** How many plans of its own an update was sent. */
function plansOf(name: string, arch = ''): number {
  const key = arch === '' ? name : `${name}:${arch}`;
  return sentSets()
    .flat()
    .filter((set) => set.join() === key).length;
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
    if (path !== 'plans') return null;
    return sentSets().at(-1)?.flat().includes('refused') ? problem('not_found') : problem('rate_limited');
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

/** Every update alone upgrades its own package; `along` are packages that every transaction of them brings too. */
function upgrades(along: Readonly<Record<string, string[]>> = {}): void {
  const { plan } = agent.driver;
  agent.driver.plan = async (paths, request) => {
    const planned = await plan(paths, request);
    if (!planned.ok) return planned;
    const names = request.updates.flatMap(({ name }) => [name, ...(along[name] ?? [])]);
    const versions = new Map(request.updates.map(({ name, toVersion }) => [name, toVersion]));
    const actions = [...new Set(names)].toSorted().map((name) => ({
      ...{ action: 'upgrade' as const, name, from_version: '1.0', to_version: versions.get(name) ?? '2.0' },
      artifact: { filename: `${name}.deb`, url: `https://x/${name}`, size_bytes: 1, sha256: 'a'.repeat(64) },
    }));
    return { ok: true, plan: { ...planned.plan, actions } };
  };
}

test('updates that resolve to the same transaction share one report', async () => {
  offer({ name: 'a' }, { name: 'liba' }, { name: 'other' });
  upgrades({ a: ['liba'], liba: ['a'] });
  await runOnce(agent.start());
  expect(sentSets()).toEqual([[['a'], ['liba']], [['other']], [['a', 'liba', 'other']]]);
});

test('once each has its plan, all updates and all security updates are planned as one transaction', async () => {
  offer({ name: 'a' }, { name: 's', security: true }, { name: 't', security: true }, { name: 'stuck' });
  const { plan } = agent.driver;
  agent.driver.plan = async (paths, request) =>
    request.updates[0]?.name === 'stuck' ? { ok: false, reason: 'held back' } : plan(paths, request);
  upgrades();
  await runOnce(agent.start());
  expect(askedJointly).toEqual(['a s t', 's t']);
  expect(sentSets().slice(-2)).toEqual([[['a', 's', 't']], [['s', 't']]]);
  await runOnce(agent.start());
  expect(askedJointly).toHaveLength(2);
});

test('a joint transaction is planned again with a changed report, and leaves out what removes packages', async () => {
  offer({ name: 'a' }, { name: 'b' }, { name: 'c' });
  upgrades();
  const { plan } = agent.driver;
  agent.driver.plan = async (paths, request) => {
    const planned = await plan(paths, request);
    if (!planned.ok || request.updates[0]?.name !== 'c' || request.updates.length > 1) return planned;
    const gone = { action: 'remove' as const, name: 'gone', from_version: '1' };
    return { ok: true, plan: { ...planned.plan, actions: [...planned.plan.actions, gone] } };
  };
  await runOnce(agent.start());
  agent.driver.scanned = { ...agent.driver.scanned, packages: [{ name: 'other', version: '1.1' }] };
  await runOnce(agent.start());
  expect(askedJointly).toEqual(['a b', 'a b']);
});

test('a joint transaction that would remove packages is not sent, and the log says so', async () => {
  offer({ name: 'a' }, { name: 'b' });
  upgrades();
  const { plan } = agent.driver;
  agent.driver.plan = async (paths, request) => {
    const planned = await plan(paths, request);
    if (!planned.ok || request.updates.length === 1) return planned;
    const gone = { action: 'remove' as const, name: 'gone', from_version: '1' };
    return { ok: true, plan: { ...planned.plan, actions: [...planned.plan.actions, gone] } };
  };
  await runOnce(agent.start());
  expect(sentSets()).toEqual([[['a']], [['b']]]);
  expect(agent.logged.join('')).toContain('the transaction of all updates would remove packages');
});

test('an update that has ended on the server does not keep its siblings from their plan', async () => {
  offer({ name: 'a' }, { name: 'liba' });
  upgrades({ a: ['liba'], liba: ['a'] });
  agent.server.override = (path) =>
    path === 'plans' && sentSets().at(-1)?.flat().includes('a') ? problem('not_found') : null;
  await runOnce(agent.start());
  expect(sentSets()).toEqual([[['a'], ['liba']], [['a']], [['liba']]]);
});

test('places of npm packages are planned apart from each other', async () => {
  const arch = (place: string) => `/srv/${place}`;
  Object.assign(agent.driver, { ecosystem: 'npm' });
  offer(...['x', 'y'].flatMap((place) => ['a', 'b'].map((name) => ({ name, arch: arch(place) }))));
  upgrades();
  await runOnce(agent.start());
  const joint = sentSets()
    .flat()
    .filter((set) => set.length > 1);
  expect(joint).toEqual([
    ['a:/srv/x', 'b:/srv/x'],
    ['a:/srv/y', 'b:/srv/y'],
  ]);
});

test('of several versions of a package a joint transaction brings the one that the server recommends', async () => {
  Object.assign(agent.driver, { ecosystem: 'pypi' });
  agent.server.alternatives.add('a:2.0');
  offer({ name: 'a' }, { name: 'a', available_version: '3.0' }, { name: 'b' });
  upgrades();
  await runOnce(agent.start());
  const sets = sentSets().flat();
  expect(
    sets
      .filter((set) => set.length === 1)
      .flat()
      .toSorted(),
  ).toEqual(['a', 'a::2.0', 'b']);
  expect(sets.filter((set) => set.length > 1)).toEqual([['a', 'b']]);
});

test('an agent that restarts before the joint transaction asks for the ids again, and sends it', async () => {
  offer(...Array.from({ length: ONCE_PLANS_MAX }, (_, index) => ({ name: `p${index}` })));
  upgrades();
  await runOnce(agent.start());
  expect([asked.length, askedJointly.length]).toEqual([ONCE_PLANS_MAX, 0]);
  await runOnce(agent.start());
  await runOnce(agent.start());
  expect([asked.length, askedJointly.length]).toEqual([ONCE_PLANS_MAX, 1]);
  expect(agent.server.received('inventory/apt')).toHaveLength(1);
  expect(agent.server.received('inventory/apt delta')).toHaveLength(1);
});

test('a joint transaction does without the updates that the package manager names as in its way', async () => {
  offer({ name: 'a' }, { name: 'b' }, { name: 'c' });
  upgrades();
  const { plan } = agent.driver;
  agent.driver.plan = async (paths, request) => {
    const inTheWay = request.updates.filter(({ name }) => name === 'b');
    if (request.updates.length === 1 || inTheWay.length === 0) return plan(paths, request);
    return { ok: false, reason: 'b conflicts with a', conflicting: inTheWay };
  };
  await runOnce(agent.start());
  expect(sentSets().at(-1)).toEqual([['a', 'c']]);
  await runOnce(agent.start());
  expect(askedJointly).toEqual(['a c']); // the same key is not planned again
});

test('a joint transaction without two updates that fit together is left', async () => {
  offer({ name: 'a' }, { name: 'b' });
  upgrades();
  const { plan } = agent.driver;
  agent.driver.plan = async (paths, request) =>
    request.updates.length === 1
      ? plan(paths, request)
      : { ok: false, reason: 'b conflicts with a', conflicting: request.updates };
  await runOnce(agent.start());
  expect(sentSets()).toEqual([[['a']], [['b']]]);
});
