import { copyFileSync } from 'node:fs';
import { nullable } from '@tidegate/protocol/scalars';
import type { AptSet } from '@tidegate/testkit/apt-packages';
import { type Static, Type } from 'typebox';
import { beforeAll, describe, expect, test } from 'vitest';
import { AGENT_VERSION } from '../apps/agent/src/platform/version.ts';
import { ENGINES } from '../apps/server/src/testing/engines.ts';
import { AGENT_BINARY } from './harness/agent-binary.ts';
import { type Host, must } from './harness/host.ts';
import { buildLastRelease, type Release } from './harness/last-release.ts';
import { expectAnswer, logIn, type Operator } from './harness/operator.ts';
import { THIS_VERSION } from './harness/server-process.ts';
import { TRACE, tracing } from './harness/story-packages.ts';
import { createWorld, storyMissing } from './harness/world.ts';

const BUILD_MAX_MS = 600_000;
const missing = storyMissing();
/** What this story reads of an update: an older server may say less of it than this version's. */
const Listed = Type.Object({ items: Type.Array(Type.Object({ id: Type.String() })) });
const Times = Type.Object({
  ...{ started_at: Type.String(), installing_at: nullable(Type.String()), finished_at: Type.String() },
});

describe.skipIf(missing !== null).each(ENGINES)('beside the last release, on $name', (engine) => {
  let last: Release;
  beforeAll(() => {
    last = buildLastRelease();
  }, BUILD_MAX_MS);

  test('a fleet is upgraded over its database: the server first, then a host', async () => {
    const world = await createWorld(engine, {}, last);
    const { server } = world;
    const host = await world.enrolled({ packages: ['before', 'between', 'after'].map(updateOf) });
    await expectUpdated({ host, operator: world.operator, name: 'before' });
    expect(await versionOf(world.operator, host)).toBe(last.version);
    const eventsBefore = await world.operator.events();

    await server.restart({}, THIS_VERSION);
    const operator = await logIn(server.url);
    expect(await server.command('doctor', '--verify-events')).toContain(
      'The log of events is intact: 8 rows',
    );
    const kept = new Set((await operator.events()).map(({ id }) => id));
    expect(eventsBefore.filter(({ id }) => !kept.has(id))).toEqual([]);
    expect(await operator.updates({ name: 'before', state: 'installed' })).toHaveLength(1);
    await expectUpdated({ host, operator, name: 'between' });
    expect(await versionOf(operator, host)).toBe(last.version);
    // Its agent does not tell when the download was over. Its result does, where that took a second.
    const { started_at, installing_at, finished_at } = await timesOfLast(operator);
    const times = [started_at, installing_at ?? started_at, finished_at];
    expect(times.toSorted()).toEqual(times);

    copyFileSync(AGENT_BINARY, host.binary);
    await expectUpdated({ host, operator, name: 'after' });
    expect(await versionOf(operator, host)).toBe(AGENT_VERSION);
    expect(await host.trace(TRACE)).toEqual(['before', 'between', 'after'].map((name) => `${name} 1.1-1 lo`));
  });

  test('a host of this version works with the server of the last release', async () => {
    const world = await createWorld(engine, {}, last);
    const host = await world.enrolled({ packages: [updateOf('demo')], program: AGENT_BINARY });
    await expectUpdated({ host, operator: world.operator, name: 'demo' });
    expect(await versionOf(world.operator, host)).toBe(AGENT_VERSION);
  });
});

function updateOf(name: string): AptSet {
  return {
    installed: [{ name, version: '1.0-1' }],
    offered: [tracing({ name, version: '1.1-1' })],
  };
}

/** Scans, approves and installs one update, and looks at all three sides of it. */
async function expectUpdated({
  host,
  operator,
  name,
}: {
  host: Host;
  operator: Operator;
  name: string;
}): Promise<void> {
  must(await host.runOnce());
  const listed = await operator.call('GET', `/api/v1/updates?${new URLSearchParams({ name })}`);
  const [update] = expectAnswer(listed, 200, Listed).items;
  if (update === undefined) throw new Error(`no update of ${name}`);
  await operator.approved(update.id);
  must(await host.runOnce());
  const { body } = await operator.call('GET', `/api/v1/updates/${update.id}`);
  expect(body).toMatchObject({ state: 'installed', out_of_band: false });
  expect(await host.installed()).toMatchObject({ [name]: '1.1-1' });
}

/** The times of the installation that ended last. */
async function timesOfLast(operator: Operator): Promise<Static<typeof Times>> {
  const path = '/api/v1/commands?action=install_update&sort=-created_at';
  const [last] = expectAnswer(
    await operator.call('GET', path),
    200,
    Type.Object({ items: Type.Array(Times) }),
  ).items;
  if (last === undefined) throw new Error('nothing was installed');
  return last;
}

async function versionOf(operator: Operator, host: Host): Promise<unknown> {
  const { body } = await operator.call('GET', `/api/v1/agents/${host.agentId()}`);
  return typeof body === 'object' && body !== null && 'agent_version' in body ? body.agent_version : body;
}
