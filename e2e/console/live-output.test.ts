import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import type { Page } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { describeConsole } from '../harness/describe-console.ts';
import { createHost, finish, type Host, must } from '../harness/host.ts';
import { storyMissing } from '../harness/world.ts';

const missing = storyMissing();
/** Each line waits until the test releases it. */
const STEPS = ['unpacking the library', 'migrating the database', 'all the way'];
const SLOW = {
  installed: [{ name: 'slow', version: '1.0-1' }],
  offered: [
    {
      name: 'slow',
      version: '1.1-1',
      postinst: STEPS.map(
        (said, step) => `while [ ! -e "$DPKG_ROOT/go-${step}" ]; do sleep 0.1; done; echo '${said}'`,
      ).join('\n'),
    },
    { name: 'other', version: '1.0-1', archive: 'security' as const },
  ],
};

describe.skipIf(missing !== null)('with a real host', () => {
  describeConsole('the live output of a command', { hosts: 0 }, (scene) => {
    const log = (page: Page) => page.getByRole('region', { name: 'Output of the command' });

    async function slowHost(): Promise<Host> {
      const folder = tmpDir('tidegate-console-');
      onTestFinished(() => folder.remove());
      await chmod(folder.path, 0o755); // the user that downloads must reach its host
      const dir = join(folder.path, 'host');
      await mkdir(dir);
      const host = await createHost(dir, { serverUrl: scene.stage.server.url, packages: [SLOW] });
      onTestFinished(() => host.stop());
      must(await host.enrol(await scene.stage.operator.registrationToken()));
      must(await host.runOnce());
      return host;
    }

    test('shows each line while the host installs, then the outcome', async () => {
      const { operator } = scene.stage;
      const host = await slowHost();
      const release = (step: number) => writeFile(join(host.apt.root, `go-${step}`), '');
      onTestFinished(async () => void (await Promise.all(STEPS.keys().map(release))));
      const [update] = await operator.updates({ name: 'slow' });
      await operator.approved(update?.id ?? '');
      const [command] = await operator.commands({ action: 'install_update' });
      const page = await scene.openAs();
      await page.goto(`/commands/${command?.id}`);
      await page.getByText('No output yet.').waitFor();
      const agent = host.startOnce();
      for (const [step, said] of STEPS.entries()) {
        expect(await page.getByText(said).count()).toBe(0);
        await release(step);
        await log(page).getByText(said).waitFor();
        if (step < STEPS.length - 1) await page.getByText('running', { exact: true }).waitFor();
      }
      must(await finish(agent));
      await page.getByText('Finished: this is the complete output.').waitFor();
      await page.getByText('success', { exact: true }).waitFor();
      await expect.poll(() => log(page).innerText()).toMatch(/Setting up slow \(1\.1-1\)[\s\S]*all the way$/);
    });
  });
});
