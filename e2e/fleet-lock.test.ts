import { tmpDir } from '@tidegate/testkit/tmp';
import { Type } from 'typebox';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createStandInHost, NEXT_BOOT_ID } from '../apps/agent/src/testing/stand-in-host.ts';
import { ENGINES } from '../apps/server/src/testing/engines.ts';
import { createFleetLockClient } from './harness/fleet-lock-client.ts';
import { must } from './harness/host.ts';
import { expectAnswer } from './harness/operator.ts';
import { createWorld, storyMissing } from './harness/world.ts';

const missing = storyMissing();
const [engine] = ENGINES;
const Queued = Type.Object({ command_id: Type.String() });
const Ordered = Type.Object({ status: Type.String() });
/** Slots are looked at every 15 seconds. */
const TURN = { interval: 500 };

describe.skipIf(missing !== null || engine === undefined)(
  `FleetLock${missing === null ? '' : ` (${missing})`}`,
  () => {
    test('a CoreOS host and the reboot of an enrolled host wait for each other', async () => {
      if (engine === undefined) throw new Error('the story is skipped');
      const folder = tmpDir('tidegate-machine-');
      onTestFinished(() => folder.remove());
      const machine = createStandInHost(folder.path);
      const world = await createWorld(engine);
      const { operator, server } = world;
      const agent = await world.enrolled({ hostRoot: machine.root });
      await operator.moveTo(agent.agentId(), 'web');

      const off = createFleetLockClient(server.url, { id: 'c988d2509fdf5cdcbed39037c56406fb', group: 'web' });
      expect(await off.preReboot()).toMatchObject({ status: 404, body: { kind: 'not_found' } });
      const credential = await server.command('reboots', 'fleet-lock', 'add', '--group', 'web');
      expect(await off.preReboot()).toMatchObject({ status: 401, body: { kind: 'unauthenticated' } });
      const base = `${server.url.replace('http://', `http://${credential.trim()}@`)}/`;
      const coreos = createFleetLockClient(base, { id: 'c988d2509fdf5cdcbed39037c56406fb', group: 'web' });

      // The client is first.
      expect((await coreos.preReboot()).status).toBe(200);
      expect((await coreos.preReboot()).status, 'it asks again').toBe(200);
      machine.comesUpAs(NEXT_BOOT_ID);
      const url = `/api/v1/agents/${agent.agentId()}/reboot`;
      const { command_id: id } = expectAnswer(await operator.call('POST', url, {}), 202, Queued);
      const status = async () =>
        expectAnswer(await operator.call('GET', `/api/v1/commands/${id}`), 200, Ordered).status;
      must(await agent.runOnce());
      expect(await status()).toBe('pending');
      expect(machine.calls()).toEqual([]);

      // It is back, and the host goes down.
      expect((await coreos.steadyState()).status).toBe(200);
      expect((await coreos.steadyState()).status, 'at each of its starts').toBe(200);
      must(await agent.runOnce());
      expect(machine.calls()).toEqual(['systemctl reboot --no-wall']);
      expect(await coreos.preReboot()).toMatchObject({
        status: 409,
        body: { kind: 'no_free_slot', value: expect.any(String) },
      });

      // The host is proven by its next boot, and the client has its turn. That takes two looks of the server.
      if (process.env.TIDEGATE_LONG !== '1') return;
      must(await agent.runOnce());
      expect(await status()).toBe('success');
      const look = await operator.call('POST', `/api/v1/agents/${agent.agentId()}/probes/run`, {});
      expect(look.status).toBe(202);
      must(await agent.runOnce());
      await expect.poll(async () => (await coreos.preReboot()).status, TURN).toBe(200);
      expect((await coreos.steadyState()).status).toBe(200);
      const events = await operator.events({ type: 'fleet_lock_changed' });
      expect(events.map(({ content }) => content)).toMatchObject(
        ['returned', 'granted', 'returned', 'granted'].map((change) => ({ change, group: 'web' })),
      );
    });
  },
);
