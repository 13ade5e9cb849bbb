import type { Locator } from 'playwright-core';
import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeUpdates, VIEWER } from '../harness/update-scene.ts';

const CVE = 'CVE-2026-7';
const CLICKS_MAX = 4;
const JUDGED_MS = 90_000;

describeUpdates(
  'vulnerabilities in the console',
  (scene) => {
    test('from a CVE in the news to its approved fix in at most four clicks', async () => {
      scene.stage.osv.addRecord({ id: `DEBIAN-${CVE}`, upstream: [CVE], summary: 'A bad parser' }, [
        { ecosystem: 'Debian:12', name: 'lost', versions: ['1.0.0'] },
      ]);
      const hosts = [await scene.hostWith(['lost']), await scene.hostWith(['lost'])];
      // The fix is judged, then the hosts are counted.
      await expect
        .poll(
          async () => {
            const { status, body } = await scene.stage.operator.call('GET', `/api/v1/vulnerabilities/${CVE}`);
            return status === 200 ? body : null;
          },
          { timeout: JUDGED_MS, interval: 500 },
        )
        .toMatchObject({ hosts: 2, fixable_hosts: 2 });
      const page = await scene.openAs();
      let clicks = 0;
      const click = async (target: Locator) => {
        clicks += 1;
        await target.click();
      };
      await page.goto('/vulnerabilities');
      await page.getByText('2 now').waitFor();
      await inspect(page, 'vulnerabilities');
      await click(page.getByRole('link', { name: CVE, exact: true }));
      await page.getByText('lost 3.0.12-1 waits for your approval').first().waitFor();
      await inspect(page, 'vulnerability');
      await click(page.getByRole('button', { name: 'Fix 2 hosts' }));
      await page
        .getByRole('dialog', { name: 'Approve 2 updates' })
        .getByText('2 updates on 2 hosts')
        .waitFor();
      await inspect(page, 'vulnerability-approval');
      await click(page.getByRole('button', { name: 'Approve 2 updates' }));
      await page.getByRole('dialog', { name: 'Result' }).waitFor();
      expect(clicks).toBeLessThanOrEqual(CLICKS_MAX);
      for (const { idOf } of hosts) expect(await scene.stateOf(idOf('lost'))).toBe('approved');
    });

    test('a viewer finds it by an alias, and has nothing to approve', async () => {
      const page = await scene.openAs(VIEWER);
      await page.goto(`/vulnerabilities/debian-${CVE.toLowerCase()}`);
      await page.getByRole('heading', { name: CVE, exact: true }).waitFor();
      await page.getByRole('link', { name: 'story-1', exact: true }).waitFor();
      expect(await page.getByRole('button', { name: /^Fix/ }).count()).toBe(0);
    });
  },
  { SERVICE_SWEEP_INTERVAL_SECONDS: '1' },
);
