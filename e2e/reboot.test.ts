import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Type } from 'typebox';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  BOOT_ID,
  createStandInHost,
  NEXT_BOOT_ID,
  type StandInHost,
} from '../apps/agent/src/testing/stand-in-host.ts';
import { ENGINES } from '../apps/server/src/testing/engines.ts';
import { must } from './harness/host.ts';
import { expectAnswer, type Operator } from './harness/operator.ts';
import { createWorld, storyMissing } from './harness/world.ts';

const missing = storyMissing();
const [engine] = ENGINES;
const Queued = Type.Object({ command_id: Type.String() });
const Ordered = Type.Object({
  status: Type.String(),
  reason: Type.Union([Type.String(), Type.Null()]),
  params: Type.Object({ boot_id: Type.String() }),
});

describe.skipIf(missing !== null || engine === undefined)(
  `a reboot${missing === null ? '' : ` (${missing})`}`,
  () => {
    test('waits for what is in its way, ends the agent with the host, and is proven by the next boot', async () => {
      const { world, machine, agent } = await aHost();
      const { operator } = world;

      machine.inhibit({ what: 'shutdown', who: 'nightly-backup', mode: 'block' });
      const early = await order(operator, agent.agentId());
      must(await agent.runOnce());
      expect(await orderOf(operator, early)).toMatchObject({
        ...{ status: 'refused', reason: 'reboot_blocked: inhibitor nightly-backup: a reason' },
        params: { boot_id: BOOT_ID },
      });
      expect(machine.calls()).toEqual([]);

      machine.inhibit();
      await goesDownWith(machine);
      const id = await order(operator, agent.agentId());
      expect((await agent.startOnce().ended).signal).toBe('SIGKILL');
      expect(await orderOf(operator, id)).toMatchObject({ status: 'running', reason: null });
      expect(machine.calls()).toEqual(['systemctl reboot --no-wall']);

      must(await agent.runOnce());
      expect(await orderOf(operator, id)).toMatchObject({
        ...{ status: 'success', reason: null, params: { boot_id: BOOT_ID } },
      });
      must(await agent.runOnce());
      expect(machine.calls()).toEqual(['systemctl reboot --no-wall']);
      // The server knows the new boot: the next order names that one.
      const later = await order(operator, agent.agentId());
      expect(await orderOf(operator, later)).toMatchObject({ params: { boot_id: NEXT_BOOT_ID } });
    });

    if (process.env.TIDEGATE_LONG === '1') {
      test('is called off while users are warned', async () => {
        const { world, machine, agent } = await aHost();
        const { operator } = world;
        machine.logIn({ user: 'ada' });
        const id = await order(operator, agent.agentId());
        const running = agent.startOnce();
        await expect.poll(() => machine.calls()).toHaveLength(1);
        const answer = await operator.call('POST', `/api/v1/commands/${id}/cancel`, {});
        expect(expectAnswer(answer, 200, Ordered).status).toBe('running');
        expect((await running.ended).code).toBe(0);
        expect(await orderOf(operator, id)).toMatchObject({
          status: 'refused',
          reason: expect.stringMatching(/^state_refused \(taken_back\)/),
        });
        expect(machine.calls()).toEqual([
          expect.stringContaining('restarts in 5 minutes'),
          'wall Tidegate: the restart of this host is called off: it was cancelled.',
        ]);
      });
    }
  },
);

/** An enrolled host whose boot, logins and programs of systemd are stand-ins. */
async function aHost() {
  if (engine === undefined) throw new Error('the story is skipped');
  const folder = tmpDir('tidegate-machine-');
  onTestFinished(() => folder.remove());
  const machine = createStandInHost(folder.path);
  const world = await createWorld(engine);
  const agent = await world.enrolled({ hostRoot: machine.root });
  return { world, machine, agent };
}

async function order(operator: Operator, agentId: string): Promise<string> {
  const answer = await operator.call('POST', `/api/v1/agents/${agentId}/reboot`, {});
  return expectAnswer(answer, 202, Queued).command_id;
}

async function orderOf(operator: Operator, id: string) {
  return expectAnswer(await operator.call('GET', `/api/v1/commands/${id}`), 200, Ordered);
}

/** From now on systemctl ends the executor and the agent that waits for it, as a host that goes down does. */
async function goesDownWith({ root }: StandInHost): Promise<void> {
  const script = `#!/bin/sh
printf 'systemctl %s\\n' "$*" >> '${root}/calls'
echo ${NEXT_BOOT_ID} > '${root}/proc/sys/kernel/random/boot_id'
read -r _ _ _ agent _ < /proc/$PPID/stat
kill -9 "$agent" "$PPID"
`;
  await writeFile(join(root, 'usr/bin/systemctl'), script);
}
