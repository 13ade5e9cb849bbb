import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { addHost } from '../harness/offer-updates.ts';
import { describeUpdates } from '../harness/update-scene.ts';

const SOUND = {
  trouble: null,
  broken: [],
  more_broken: 0,
  left_files: [],
  more_left_files: 0,
  unread_folders: 0,
};
const MEND = 'as root: run `dpkg --configure -a`, then `apt-get -f install`, and look at what still fails';

describeUpdates('the condition of the packages of a host in the console', (scene) => {
  test('the page says what is broken, how to mend it and what waits for a person, and then that it is sound', async () => {
    const { operator, server } = scene.stage;
    const agent = await addHost({ url: server.url, operator }, 'broken-host');
    const report = async (more: object) => {
      const body = {
        scanned_at: new Date().toISOString(),
        complete: true,
        packages: [],
        updates: [],
        ...more,
      };
      expect((await agent.call('PUT', '/inventory/apt', body)).status).toBe(200);
    };
    await report({
      complete: false,
      condition: {
        ...SOUND,
        trouble: { reason: 'packages_broken', detail: `loud 1.1-1 is half-configured; ${MEND}` },
        broken: [{ name: 'loud', version: '1.1-1', arch: 'amd64', state: 'half-configured' }],
        left_files: [
          { path: '/etc/ssh/sshd_config.ucf-dist', package: 'openssh-server' },
          { path: '/etc/default/grub.dpkg-dist', package: 'grub-common' },
        ],
        ...{ more_left_files: 3, unread_folders: 1 },
        repair: {
          packages: [
            {
              ...{ name: 'loud', arch: 'amd64', version: '1.1-1', state: 'half-configured' },
              scripts: { postinst: 'a'.repeat(64) },
            },
            { name: 'quiet', arch: 'all', version: '2.0-1', state: 'unpacked', scripts: {} },
          ],
        },
      },
    });
    const page = await scene.openAs();
    await page.goto('/hosts');
    await page.getByRole('link', { name: 'broken-host' }).click();
    await page.getByText('has to be mended').waitFor();
    const sentence = page.getByText('Nothing is installed until it is mended: loud 1.1-1');
    await sentence.waitFor();
    await expect.poll(() => sentence.count()).toBe(1);
    await page.getByRole('list', { name: 'Broken packages' }).getByText('loud 1.1-1').waitFor();
    await page.getByText('5 configuration files left beside changed ones').click();
    await page.getByText('/etc/ssh/sshd_config.ucf-dist').waitFor();
    await page.getByText('What was left in 1 folder is not known').waitFor();
    await inspect(page, 'host-in-trouble');

    await page.getByRole('button', { name: 'Finish 2 packages…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Finish these packages' });
    await dialog.getByText('loud 1.1-1').waitFor();
    await dialog.getByText('aaaaaaaaaaaa…').waitFor();
    await inspect(page, 'repair-preview');
    await dialog.getByRole('button', { name: 'Sign the repair' }).click();
    await page.getByText('The host repairs its packages at its next check-in.').waitFor();
    await page.getByRole('link', { name: 'repair packages' }).first().waitFor();
    // One is under way: the second is refused with the reason.
    await page.getByRole('button', { name: 'Finish 2 packages…' }).click();
    await dialog.getByRole('button', { name: 'Sign the repair' }).click();
    await dialog.getByText('A repair of this host is under way.').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();

    await report({ condition: SOUND });
    await page.reload();
    await page.getByText('sound', { exact: true }).waitFor();
    expect(await page.getByText('has to be mended').count()).toBe(0);

    // An agent that does not say so is not sound.
    await report({});
    await page.reload();
    await page.getByRole('heading', { name: 'Condition of the packages' }).waitFor();
    await page.getByText('not known', { exact: true }).first().waitFor();
    expect(await page.getByText('sound', { exact: true }).count()).toBe(0);
  });
});
