import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CommandItem } from '@tidegate/protocol/commands-api';
import { Progress } from '@tidegate/protocol/progress-api';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ENGINES } from '../apps/server/src/testing/engines.ts';
import { finish, type Host, must } from './harness/host.ts';
import { expectAnswer } from './harness/operator.ts';
import { createWorld, storyMissing } from './harness/world.ts';

const missing = storyMissing();
/** The file below the root of the host that the maintainer script waits for. */
const GATE = 'go';
const PACKAGES = {
  installed: [{ name: 'slow', version: '1.0-1' }],
  offered: [
    { name: 'slow', version: '1.1-1', postinst: `while [ ! -e "$DPKG_ROOT/${GATE}" ]; do sleep 0.1; done` },
  ],
};

describe.skipIf(missing !== null)('a slow download', () => {
  test('is seen as such until it is over; then the installation is, with the times of both', async () => {
    const { host, mirror, command, waits } = await approvedSlow();
    const agent = host.startOnce();
    await expect.poll(() => mirror.isAsked).toBe(true);
    await expect.poll(waits).toContain('download');
    expect(await command()).toMatchObject({ status: 'running', installing_at: null });
    const sentAt = Date.now();
    mirror.send();
    await expect.poll(waits).toContain('installation');
    expect(await command()).toMatchObject({ status: 'running', finished_at: null });
    open(host);
    must(await finish(agent));
    const { status, started_at, installing_at, finished_at } = await command();
    expect(status).toBe('success');
    // The machine that runs the story may wait for a restart of its own.
    expect(await waits()).not.toContain('installation');
    const [started, installing, finished] = [started_at, installing_at, finished_at].map((at) =>
      Date.parse(at ?? ''),
    );
    // Hosts tell whole seconds.
    expect(started).toBeLessThanOrEqual(sentAt);
    expect(installing).toBeGreaterThanOrEqual(Math.floor(sentAt / 1_000) * 1_000);
    expect(finished).toBeGreaterThanOrEqual(installing ?? NaN);
  });

  test('during which the agent is killed has not become an installation', async () => {
    const { host, mirror, command } = await approvedSlow();
    const agent = host.startOnce();
    await expect.poll(() => mirror.isAsked).toBe(true);
    agent.signal('SIGKILL');
    await agent.ended;
    mirror.send();
    must(await host.runOnce());
    expect(await command()).toMatchObject({ status: 'interrupted', installing_at: null });
    expect(await host.installed()).toEqual({ slow: '1.0-1' });
  });

  test('at whose end the server is away is told once it is back', async () => {
    const { world, host, mirror, command } = await approvedSlow();
    const agent = host.startOnce();
    await expect.poll(() => mirror.isAsked).toBe(true);
    await expect.poll(async () => (await command()).status).toBe('running');
    await world.server.kill();
    mirror.send();
    await agent.line(/cannot be fetched yet/); // the state, without which nothing is installed
    await world.server.restart();
    await expect.poll(async () => (await command()).installing_at).not.toBe(null);
    open(host);
    must(await finish(agent));
    expect((await command()).status).toBe('success');
  });
});

/** A host with an approved installation that its agent has not fetched, and a mirror that holds the package back. */
async function approvedSlow() {
  const [engine] = ENGINES;
  if (engine === undefined) throw new Error('there is no engine');
  const world = await createWorld(engine);
  const { operator } = world;
  const held = Promise.withResolvers<void>();
  const mirror = { isAsked: false, send: held.resolve };
  const host = await world.enrolled({
    packages: [PACKAGES],
    untilSent: async (path) => {
      if (!path.includes('slow_1.1-1')) return;
      mirror.isAsked = true;
      await held.promise;
    },
  });
  onTestFinished(() => {
    mirror.send();
    open(host); // otherwise the script keeps waiting
  });
  const [update] = await operator.updates({ name: 'slow' });
  if (update === undefined) throw new Error('no update was reported');
  await operator.approved(update.id);
  const [queued] = await operator.commands({ action: 'install_update' });
  if (queued === undefined) throw new Error('no command was queued for the host');
  const url = `/api/v1/commands/${queued.id}`;
  const command = async () => expectAnswer(await operator.call('GET', url), 200, CommandItem);
  const waits = async () => {
    const progress = expectAnswer(await operator.call('GET', `${url}/progress`), 200, Progress);
    return progress.waits.map(({ kind }) => kind);
  };
  return { world, host, mirror, command, waits };
}

function open(host: Host): void {
  writeFileSync(join(host.apt.root, GATE), '');
}
