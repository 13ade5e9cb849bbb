import { fileURLToPath } from 'node:url';
import { expect, test, vi } from 'vitest';
import { must } from '../harness/host.ts';
import { createKeyScene } from '../harness/key-scene.ts';
import { readRunbook, stepOf } from '../harness/runbook.ts';
import { storyEngines } from '../harness/story-engines.ts';

const steps = readRunbook(fileURLToPath(new URL('../../docs/runbooks/key-rotation.md', import.meta.url)));

/** How soon the server and a host follow a change of keys, in milliseconds. */
const WITHIN = { timeout: 90_000, interval: 500 };

test.each(storyEngines('postgres'))(
  'docs/runbooks/key-rotation.md: every step does and shows what it says ($name)',
  async (engine) => {
    const scene = await createKeyScene(engine);
    const { names, follow, enrolled, operator } = scene;
    const host = await enrolled('one');
    Object.assign(names, { OLD: '1', NEW: '2', AGENTS: '1' });
    await follow(stepOf(steps, '1. See what there is'));
    await follow(stepOf(steps, '2. Add a key'));
    await vi.waitFor(async () => {
      must(await host.runOnce());
      await follow(stepOf(steps, '3. Wait until the hosts know it'));
    }, WITHIN);
    await follow(stepOf(steps, '4. Sign with it'));
    await follow(stepOf(steps, '5. Revoke the old one'));
    await vi.waitFor(async () => {
      must(await host.runOnce());
      await follow(stepOf(steps, '6. Check'));
    }, WITHIN);

    const made = (await follow(part('Set up an offline root', 0, 1))).split('\n');
    const publicKeys = made.filter((line) => /^[0-9a-f]{64}$/.test(line));
    Object.assign(names, { ANNA: publicKeys[0], BEN: publicKeys[1], CLEO: publicKeys[2], NEXT: '3' });
    await follow(rest('Set up an offline root', 1));
    await follow(stepOf(steps, 'With an offline root'));
    await vi.waitFor(async () => {
      must(await host.runOnce());
      const [newest] = await operator.keys();
      expect(newest).toMatchObject({ version: 3, trusted_by: 1 });
    }, WITHIN);

    const [dora = ''] = (await follow(part('Change the root', 0, 1))).split('\n');
    Object.assign(names, { DORA: dora });
    await follow(rest('Change the root', 1));
    expect(must(await host.runOnce()).code).toBe(0);
  },
);

/** The later blocks of a step with its whole expected output: they use names that the first blocks define. */
function rest(title: string, from: number) {
  const step = stepOf(steps, title);
  return { ...step, commands: step.commands.slice(from) };
}

function part(title: string, from: number, to: number) {
  return { title, commands: stepOf(steps, title).commands.slice(from, to), shown: [] };
}
