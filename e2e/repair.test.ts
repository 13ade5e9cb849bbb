import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Type } from 'typebox';
import { describe, expect, test } from 'vitest';
import { must } from './harness/host.ts';
import { expectAnswer, type Operator } from './harness/operator.ts';
import { storyEngines } from './harness/story-engines.ts';
import { TRACE } from './harness/story-packages.ts';
import { createWorld, storyMissing } from './harness/world.ts';

const missing = storyMissing();
/** While this file lies below the host's root, the script fails. */
const LAME = 'lame';
const LOUD = {
  installed: [{ name: 'loud', version: '1.0-1' }],
  offered: [
    {
      ...{ name: 'loud', version: '1.1-1' },
      postinst: `echo ran >> "$DPKG_ROOT/${TRACE}"; test ! -e "$DPKG_ROOT/${LAME}"`,
    },
  ],
};
const QUIET = {
  installed: [{ name: 'quiet', version: '1.0-1' }],
  offered: [{ name: 'quiet', version: '1.1-1' }],
};
const Queued = Type.Object({ command_id: Type.String() });
const Shown = Type.Object({
  reports: Type.Array(
    Type.Object({ ecosystem: Type.String(), condition: Type.Any(), repair_sha256: Type.Any() }),
  ),
});

describe.skipIf(missing !== null).each(storyEngines('sqlite'))(
  `a broken host${missing === null ? '' : ` (${missing})`}, on $name`,
  (engine) => {
    test('refuses updates, is repaired by a signed command that names each script, and takes them again', async () => {
      const world = await createWorld(engine);
      const { operator } = world;
      const host = await world.enrolled({ packages: [LOUD, QUIET] });
      const lame = join(host.apt.root, LAME);
      await writeFile(lame, '');
      const idOf = async (name: string) => (await operator.updates({ name }))[0]?.id ?? '';
      const statuses = async () =>
        (await operator.commands({})).map(({ action, status }) => `${action} ${status}`).toSorted();
      const approve = async (name: string) => void (await operator.approved(await idOf(name)));

      await approve('loud');
      must(await host.runOnce());
      await approve('quiet');
      must(await host.runOnce());
      expect(await statuses()).toEqual(['install_update failed', 'install_update refused']);
      expect(await host.installed()).toMatchObject({ quiet: '1.0-1' });

      const { condition, repair_sha256: sha256 } = await reportOf(operator, host.agentId());
      expect(condition.trouble.reason).toBe('packages_broken');
      expect(condition.repair.packages).toEqual([
        {
          ...{ name: 'loud', arch: 'all', version: '1.1-1', state: 'half-configured' },
          scripts: { postinst: expect.stringMatching(/^[0-9a-f]{64}$/) },
        },
      ]);
      await rm(lame);
      const url = `/api/v1/agents/${host.agentId()}/repair`;
      expectAnswer(await operator.call('POST', url, { repair_sha256: sha256 }), 202, Queued);
      must(await host.runOnce());
      const [repair] = await operator.commands({ action: 'repair' });
      expect([repair?.status, repair?.reason]).toEqual(['success', null]);
      expect(await host.trace(TRACE)).toEqual(['ran', 'ran']);
      const ended = await operator.events({ type: 'repair_ended' });
      expect(ended.map(({ content }) => content)).toMatchObject([{ status: 'success' }]);

      must(await host.runOnce());
      const after = await reportOf(operator, host.agentId());
      expect([after.condition.trouble, after.repair_sha256]).toEqual([null, null]);
      const quiet = await idOf('quiet');
      await operator.call('POST', `/api/v1/updates/${quiet}/reopen`, {});
      must(await host.runOnce());
      await operator.approved(quiet);
      must(await host.runOnce());
      expect(await host.installed()).toMatchObject({ loud: '1.1-1', quiet: '1.1-1' });
    });
  },
);

async function reportOf(operator: Operator, agentId: string) {
  const answer = await operator.call('GET', `/api/v1/agents/${agentId}/inventory?limit=1`);
  const report = expectAnswer(answer, 200, Shown).reports.find(({ ecosystem }) => ecosystem === 'apt');
  if (report === undefined) throw new Error('the host has not reported');
  return report;
}
