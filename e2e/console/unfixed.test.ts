import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { addHost } from '../harness/offer-updates.ts';
import { describeUpdates, VIEWER } from '../harness/update-scene.ts';

const LOST = 'CVE-2026-7';

describeUpdates(
  'vulnerabilities without a fix in the console',
  (scene) => {
    async function install(
      hostname: string,
      record: { id: string; upstream?: string[] } = { id: LOST },
      name = 'lost',
    ): Promise<void> {
      const { operator, server, osv } = scene.stage;
      osv.addRecord({ summary: 'A bad parser', ...record }, [
        { ecosystem: 'Debian:12', name, versions: ['1.0.0'] },
      ]);
      const agent = await addHost({ url: server.url, operator }, hostname);
      const lost = { name, version: '1.0.0', arch: 'amd64', source_name: name, source_version: '1.0.0' };
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
          { interval: 500 },
        )
        .toBe(1);
      const order = page.getByRole('columnheader', { name: /Exploited/ });
      await expect.poll(() => order.getAttribute('aria-sort')).toBe('descending');
      await row.getByText('not known', { exact: true }).waitFor();
      await row.getByText('none known', { exact: true }).waitFor();
      await inspect(page, 'unfixed');
      // A phone has no hover that would say what the pencil does.
      const word = page
        .getByRole('button', { name: `Note the mitigation of ${LOST} in lost` })
        .getByText('Note');
      expect(await word.isVisible()).toBe(false);
      await page.setViewportSize({ width: 390, height: 844 });
      await word.waitFor();
      await inspect(page, 'unfixed-390');
      await page.setViewportSize({ width: 1440, height: 900 });

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
      await expect.poll(() => dialog.getByLabel('Why it helps').inputValue()).toBe('Blocks the request.');
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

    test('an advisory about several CVEs is found by each of them, and leads to it', async () => {
      const cves = ['CVE-2026-11', 'CVE-2026-12', 'CVE-2026-13'];
      await install('of-many', { id: 'DSA-1-1', upstream: cves }, 'many');
      const found = async () => (await scene.stage.operator.call('GET', '/api/v1/unfixed?q=DSA-1-1')).body;
      await expect.poll(found, { interval: 500 }).toMatchObject({ items: [{ cves, hosts: 1 }] });
      const page = await scene.openAs(VIEWER);
      await page.goto('/unfixed');
      const row = page.getByRole('row', { name: /DSA-1-1/ });
      await row.getByText('and 2 more').waitFor();
      await row.getByRole('link', { name: 'CVE-2026-11', exact: true }).waitFor();
      await page.getByRole('searchbox', { name: 'Package or id' }).fill('cve-2026-13');
      await row.getByRole('link', { name: 'CVE-2026-13', exact: true }).waitFor();
      await inspect(page, 'unfixed-many');
      await row.getByRole('link', { name: 'CVE-2026-13', exact: true }).click();
      await page.getByRole('heading', { name: 'CVE-2026-13', exact: true }).waitFor();
      await page.goBack();
      await row.getByRole('link', { name: 'DSA-1-1', exact: true }).click();
      await page.getByRole('heading', { name: 'DSA-1-1', exact: true }).waitFor();
      await page.getByText(cves.join(', ')).waitFor();
    });

    test('a CVE with a record of its own is one row, with the advisory that tells of it as well', async () => {
      const cves = ['CVE-2026-21', 'CVE-2026-22'];
      scene.stage.osv.addRecord(
        { id: 'DEBIAN-CVE-2026-21', summary: 'A bad parser', upstream: ['CVE-2026-21'] },
        [{ ecosystem: 'Debian:12', name: 'both', versions: ['1.0.0'] }],
      );
      await install('of-both', { id: 'DSA-2-1', upstream: cves }, 'both');
      const found = async () => (await scene.stage.operator.call('GET', '/api/v1/unfixed?q=DSA-2-1')).body;
      await expect.poll(found, { interval: 500 }).toMatchObject({ total: 2 });
      const page = await scene.openAs(VIEWER);
      await page.goto('/unfixed?q=CVE-2026-21');
      const own = page.getByRole('row', { name: /CVE-2026-21/ });
      await own.getByText('DEBIAN-CVE-2026-21').waitFor();
      await own.getByRole('link', { name: 'DSA-2-1', exact: true }).waitFor();
      expect(await own.count()).toBe(1);
      await page.getByRole('searchbox', { name: 'Package or id' }).fill('dsa-2-1');
      const rest = page.getByRole('row', { name: /CVE-2026-22/ });
      await rest.getByRole('link', { name: 'DSA-2-1', exact: true }).waitFor();
      expect(await page.getByRole('row', { name: /DSA-2-1/ }).count()).toBe(2);
      await inspect(page, 'unfixed-shared');
    });
  },
  { SERVICE_SWEEP_INTERVAL_SECONDS: '1' },
);
