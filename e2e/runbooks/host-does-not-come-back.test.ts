import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Type } from 'typebox';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createStandInHost } from '../../apps/agent/src/testing/stand-in-host.ts';
import { ENGINES } from '../../apps/server/src/testing/engines.ts';
import { createFollower } from '../harness/follow-runbook.ts';
import { must } from '../harness/host.ts';
import { expectAnswer } from '../harness/operator.ts';
import { OFTEN } from '../harness/server-process.ts';
import { createWorld, storyMissing } from '../harness/world.ts';

const missing = storyMissing();
const GROUP = 'web';
const Slots = Type.Object({
  items: Type.Array(
    Type.Object({
      group: Type.Union([Type.String(), Type.Null()]),
      is_halted: Type.Boolean(),
      slots: Type.Array(Type.Object({ id: Type.String(), state: Type.String() })),
    }),
  ),
});

describe.skipIf(missing !== null).each(ENGINES.slice(0, 1))(
  'docs/runbooks/host-does-not-come-back.md on $name',
  (engine) => {
    test('a host that fails keeps its slot and halts its group until somebody releases it', async () => {
      const folder = tmpDir('tidegate-machine-');
      onTestFinished(() => folder.remove());
      const machine = createStandInHost(folder.path);
      await writeFile(join(machine.root, 'usr/bin/systemctl'), '#!/bin/sh\necho no >&2\nexit 1\n');
      const { server, operator, enrolled } = await createWorld(engine, OFTEN);
      const host = await enrolled({ hostRoot: machine.root });
      await operator.moveTo(host.agentId(), GROUP);
      const limits = { group: GROUP, max_at_once: 1, min_healthy: 0, halt_after: 1 };
      expect((await operator.call('PUT', '/api/v1/reboot-slots', limits)).status).toBe(204);
      const ask = {
        ...{ kind: 'reboot', scope: { kind: 'all' }, only_needed: false, reason: 'the new kernel' },
        deadline: new Date(Date.now() + 3_600_000).toISOString(),
      };
      expect(await operator.call('POST', '/api/v1/reboots', ask)).toMatchObject({ body: { queued: 1 } });
      await expect.poll(() => operator.commands({ action: 'reboot' })).toHaveLength(1);
      must(await host.runOnce());

      const slots = async () =>
        expectAnswer(await operator.call('GET', '/api/v1/reboot-slots'), 200, Slots).items;
      await expect.poll(slots).toMatchObject([{ is_halted: true, slots: [{ state: 'failed' }] }]);
      await expect.poll(() => operator.events({ type: 'reboot_ended' })).toHaveLength(1);
      const follow = createFollower('host-does-not-come-back.md', {
        ...{ SERVER: server.url, TOKEN: operator.token, AGENT_ID: host.agentId() },
        SLOT: (await slots())[0]?.slots[0]?.id ?? '',
      });
      await follow('What you see');
      await follow('Keep others from going down');
      await follow('Look at the host');
      await follow('Release its slot');
      await follow('Check');
    });
  },
);
