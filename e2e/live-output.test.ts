import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { nullable } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { describe, expect, onTestFinished, test } from 'vitest';
import { outputPath } from '../apps/agent/src/jobs/job-folder.ts';
import { ENGINES } from '../apps/server/src/testing/engines.ts';
import type { Child } from './harness/child.ts';
import { finish, type Host, must, pollEachSecond } from './harness/host.ts';
import { expectAnswer, type Operator } from './harness/operator.ts';
import { createWorld, storyMissing, type World } from './harness/world.ts';

const missing = storyMissing();
/** The file below the root of the host that the maintainer script waits for. */
const GATE = 'go';
const PACKAGES = {
  installed: [{ name: 'slow', version: '1.0-1' }],
  offered: [
    {
      name: 'slow',
      version: '1.1-1',
      // Prints a line, waits, and prints another, with colours and a byte that is not UTF-8.
      postinst: [
        `printf 'half \\033[31mway\\033[0m \\377\\n'`,
        `while [ ! -e "$DPKG_ROOT/${GATE}" ]; do sleep 0.1; done`,
        'echo all the way >&2',
      ].join('\n'),
    },
    { name: 'other', version: '1.0-1', archive: 'security' as const },
  ],
};
const Command = Type.Object({ status: Type.String(), output_tail: nullable(Type.String()) });

describe.skipIf(missing !== null)('the output of an installation', () => {
  test('is on the server while the command runs, as plain text, and complete at its end', async () => {
    const { world, host, id } = await approvedSlow();
    const agent = host.startOnce();
    await said(world, id, 'half way');
    expect(await statusOf(world.operator, id)).toBe('running');
    open(host);
    must(await finish(agent));
    expect(await statusOf(world.operator, id)).toBe('success');
    await expectWhole(world, host, id);
  });

  test('survives a stop of the server: nothing fails, and the server has all of it after its restart', async () => {
    const { world, host, id } = await approvedSlow();
    pollEachSecond(host);
    const agent = startPolling(host);
    await said(world, id, 'half way');
    await world.server.kill();
    open(host);
    // The job ends by itself while the server is down.
    await expect.poll(host.installed).toEqual({ slow: '1.1-1' });
    await agent.line(/command ended .*status=success/);
    await world.server.restart();
    await expect.poll(() => statusOf(world.operator, id)).toBe('success');
    await said(world, id, 'all the way');
    await expectWhole(world, host, id);
  });

  test('survives kill -9 of the agent: no line is lost or sent twice', async () => {
    const { world, host, id } = await approvedSlow();
    pollEachSecond(host);
    const killed = startPolling(host);
    await said(world, id, 'half way');
    killed.signal('SIGKILL');
    await expect.poll(killed.hasEnded).toBe(true);
    startPolling(host);
    open(host);
    await said(world, id, 'all the way');
    await expect.poll(() => statusOf(world.operator, id)).toBe('success'); // the executor's report decides
    await expect.poll(host.installed).toEqual({ slow: '1.1-1' });
    await expectWhole(world, host, id);
  });

  test('is not redirected by planted links, neither for root to write nor for the agent to read', async () => {
    const { world, host, id } = await approvedSlow();
    const dir = dirname(host.configDir);
    const secret = join(dir, 'secret');
    writeFileSync(secret, 'not for the server', { mode: 0o600 });
    const planted = outputPath(join(dir, 'executor'), id);
    mkdirSync(dirname(planted), { recursive: true });
    symlinkSync(secret, planted);
    open(host);
    must(await host.runOnce());
    expect(await statusOf(world.operator, id)).toBe('success');
    expect(await outputOf(world, id)).toBe('');
    expect(readFileSync(secret, 'utf8')).toBe('not for the server');
    expect(existsSync(join(dir, 'spool', id))).toBe(false);
  });
});

/** A host with an approved installation that its agent has not fetched, and the id of its command. */
async function approvedSlow(): Promise<{ world: World; host: Host; id: string }> {
  const [engine] = ENGINES;
  if (engine === undefined) throw new Error('there is no engine');
  const world = await createWorld(engine);
  const { operator } = world;
  const host = await world.enrolled({ packages: [PACKAGES] });
  onTestFinished(() => open(host)); // otherwise the script keeps waiting
  const [update] = await operator.updates({ name: 'slow' });
  if (update === undefined) throw new Error('no update was reported');
  await operator.approved(update.id);
  const [command] = await operator.commands({ action: 'install_update' });
  if (command === undefined) throw new Error('no command was queued for the host');
  return { world, host, id: command.id };
}

function open(host: Host): void {
  writeFileSync(join(host.apt.root, GATE), '');
}

function startPolling(host: Host): Child {
  const agent = host.run();
  onTestFinished(async () => {
    if (!agent.hasEnded()) agent.signal('SIGTERM');
    await agent.ended;
  });
  return agent;
}

async function statusOf(operator: Operator, id: string): Promise<string> {
  return (await commandOf(operator, id)).status;
}

async function commandOf(operator: Operator, id: string) {
  return expectAnswer(await operator.call('GET', `/api/v1/commands/${id}`), 200, Command);
}

/** Waits until the output contains these words. */
async function said(world: World, id: string, words: string): Promise<void> {
  await expect.poll(() => outputOf(world, id).catch(() => '')).toContain(words);
}

/** The output that a new viewer gets at once. */
async function outputOf({ server, operator }: World, id: string): Promise<string> {
  const response = await fetch(`${server.url}/api/v1/commands/${id}/output`, {
    headers: { authorization: `Bearer ${operator.token}` },
  });
  if (!response.ok || response.body === null) throw new Error(`no stream: ${response.status}`);
  let text = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (/^(: waiting|event: end)$/m.test(text)) break;
  }
  const pieces = text.matchAll(/^event: output\ndata: (.*)$/gm);
  return Array.from(pieces, ([, data = '']) => String(JSON.parse(data).data)).join('');
}

/** The server has the executor's output byte for byte, and each line once. */
async function expectWhole(world: World, host: Host, id: string): Promise<void> {
  const output = await outputOf(world, id);
  expect(output).toBe(readFileSync(outputPath(join(dirname(host.configDir), 'executor'), id), 'utf8'));
  expect(output).toContain('half way \ufffd\n');
  expect(output.match(/all the way/g)).toHaveLength(1);
}
