import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, onTestFinished, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';
import { createHost, must } from '../harness/host.ts';
import { storyMissing } from '../harness/world.ts';

const missing = storyMissing();
const DEMO = {
  installed: [{ name: 'demo', version: '1.0-1' }],
  offered: [{ name: 'demo', version: '1.1-1' }],
};

describe.skipIf(missing !== null)('with a real host', () => {
  describeConsole('the programs of root around an installation', { hosts: 0 }, (scene) => {
    /** A host whose root has named a probe, a backup that fails at first, and a note after it. */
    async function guardedHost() {
      const places = tmpDir('tidegate-console-');
      onTestFinished(() => places.remove());
      await chmod(places.path, 0o755);
      const dir = join(places.path, 'host');
      await mkdir(dir);
      // Root runs nothing from a folder below one that others can change.
      const folder = mkdtempSync('/run/tidegate-story-');
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      chmodSync(folder, 0o755);
      const policyFile = join(folder, 'policy.json');
      writeFileSync(policyFile, JSON.stringify({ v: 1 }), { mode: 0o644 });
      const write = (path: string, content: object) => {
        mkdirSync(join(folder, path, '..'), { recursive: true, mode: 0o755 });
        writeFileSync(join(folder, path), JSON.stringify({ v: 1, ...content }), { mode: 0o644 });
      };
      const program = join(folder, 'backup');
      const backup = (script: string) => {
        writeFileSync(program, `#!/bin/sh\n${script}\n`);
        chmodSync(program, 0o755);
      };
      backup('echo no space left for the dump; exit 3');
      write('probes.d/web.json', { kind: 'program', program: '/usr/bin/true' });
      write('hooks.d/before/backup.json', { program });
      write('hooks.d/after/note.json', { program: '/usr/bin/true' });
      const host = await createHost(dir, { serverUrl: scene.stage.server.url, packages: [DEMO], policyFile });
      onTestFinished(() => host.stop());
      must(await host.enrol(await scene.stage.operator.registrationToken()));
      must(await host.runOnce());
      return { host, backup };
    }

    test('a backup that fails stops it, the page says so, and what it prints is kept', async () => {
      const { operator } = scene.stage;
      const { host, backup } = await guardedHost();
      const [update] = await operator.updates({ name: 'demo' });
      const order = async () => {
        await operator.approved(update?.id ?? '');
        const [command] = await operator.commands({ action: 'install_update' });
        await host.runOnce();
        return command?.id ?? '';
      };
      const stopped = await order();
      expect(await host.installed()).toMatchObject({ demo: '1.0-1' });
      const page = await scene.openAs();
      await page.goto(`/commands/${stopped}`);
      const hooks = page.getByRole('list', { name: 'Hooks' });
      await hooks.getByText('backup').waitFor();
      await expect.poll(() => hooks.innerText()).toMatch(/before\s+backup\s+failed\s+took less than 1 s/);
      await page.getByText('Probes before it: 1 green.').waitFor();
      await page.getByText(/hook failed/).waitFor();
      const output = page.getByRole('region', { name: 'Output of the command' });
      await page.getByText('Finished: this is the complete output.').waitFor();
      expect((await output.innerText()).match(/no space left/g)).toHaveLength(1);
      await inspect(page, 'hooks-failed');

      backup('echo dumped');
      await operator.call('POST', `/api/v1/updates/${update?.id}/reopen`, { reason: 'there is space now' });
      const retried = await order();
      expect(await host.installed()).toMatchObject({ demo: '1.1-1' });
      await page.goto(`/commands/${retried}`);
      await hooks.getByText('note').waitFor();
      await expect
        .poll(() => hooks.innerText())
        .toMatch(/before\s+backup\s+success[\s\S]*after\s+note\s+success/);
      await inspect(page, 'hooks');
    });
  });
});
