import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { addHost } from '../harness/offer-updates.ts';
import { describeUpdates, VIEWER } from '../harness/update-scene.ts';

const LOST = 'CVE-2026-7';

describeUpdates(
  'vulnerabilities without a fix in the console',
  (scene) => {
    async function install(hostname: string): Promise<void> {
      const { operator, server, osv } = scene.stage;
      osv.addRecord({ id: LOST, summary: 'A bad parser' }, [
        { ecosystem: 'Debian:12', name: 'lost', versions: ['1.0.0'] },
      ]);
      const agent = await addHost({ url: server.url, operator }, hostname);
      const lost = {
        name: 'lost',
        version: '1.0.0',
        arch: 'amd64',
        source_name: 'lost',
        source_version: '1.0.0',
      };
      const report = { scanned_at: new Date().toISOString(), complete: true, packages: [lost], updates: [] };
      const { status } = await agent.call('PUT', '/inventory/apt', report);
      expect(status).toBe(200);
    }

    test('a package without an update is listed, its hosts are named, and a mitigation is noted by keyboard', async () => {
      await install('left-alone');
      const page = await scene.openAs();
      await page.goto('/unfixed');
      const row = page.getByRole('row', { name: new RegExp(LOST) });
      // A pass has the package judged, and the next counts it.
      await expect
        .poll(
          async () => {
            await page.reload();
            await page.getByRole('heading', { name: 'Vulnerabilities without a fix' }).waitFor();
            await page
              .getByText(/No vulnerability without a fix|Debian:12/)
              .first()
              .waitFor();
            return row.count();
          },
          { timeout: 20_000, interval: 500 },
        )
        .toBe(1);
      await row.getByText('not known', { exact: true }).waitFor();
      await row.getByText('none known', { exact: true }).waitFor();
      await inspect(page, 'unfixed');

      await page.getByRole('button', { name: `1 host with ${LOST} in lost` }).focus();
      await page.keyboard.press('Enter');
      const hosts = page.getByRole('dialog', { name: `Hosts with ${LOST} in lost` });
      await hosts.getByRole('link', { name: 'left-alone' }).waitFor();
      await hosts.getByText('lost 1.0.0').waitFor();
      await inspect(page, 'unfixed-hosts');
      await page.keyboard.press('Escape');
      await hosts.waitFor({ state: 'detached' });

      await page.getByRole('button', { name: `Note the mitigation of ${LOST} in lost` }).focus();
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog', { name: `Note the mitigation of ${LOST} in lost` });
      await dialog.getByLabel('Hook').focus();
      await page.keyboard.type('../firewall');
      await page.keyboard.press('Tab');
      await page.keyboard.type('Blocks the request.');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      // A path names no file of root's folder: the refusal is shown, and what was written stays.
      await dialog.getByRole('alert').waitFor();
      expect(await dialog.getByLabel('Why it helps').inputValue()).toBe('Blocks the request.');
      await dialog.getByLabel('Hook').fill('web-firewall');
      await inspect(page, 'unfixed-mitigate');
      await page.keyboard.press('Enter');
      await page.getByText(`Noted: web-firewall mitigates ${LOST} in lost.`).waitFor();
      await row.getByText('web-firewall').waitFor();
      await page.getByLabel('Mitigation', { exact: true }).selectOption('false');
      await row.waitFor({ state: 'detached' });
    });

    test('a viewer can look, and note nothing', async () => {
      const page = await scene.openAs(VIEWER);
      await page.goto('/unfixed');
      await page.getByRole('row', { name: new RegExp(LOST) }).waitFor();
      await page.getByRole('button', { name: /^1 host with/ }).waitFor();
      expect(await page.getByRole('button', { name: /^Note/ }).count()).toBe(0);
    });
  },
  { SERVICE_SWEEP_INTERVAL_SECONDS: '1' },
);
