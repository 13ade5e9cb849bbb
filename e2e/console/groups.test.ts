import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeUpdates, VIEWER } from '../harness/update-scene.ts';

const MANY = Array.from({ length: 13 }, (_, n) => `lib-${String(n).padStart(2, '0')}`);

describeUpdates(
  'updates grouped by package and by host',
  (scene) => {
    /** Two hosts: one has a critical fix, an update that brings a vulnerability, and many that say nothing. */
    async function twoHosts() {
      scene.stage.osv.addRecord(
        { id: 'DEBIAN-CVE-2026-8', upstream: ['CVE-2026-8'], database_specific: { severity: 'CRITICAL' } },
        [{ ecosystem: 'Debian:12', name: 'torn', versions: ['1.0.0'] }],
      );
      const large = await scene.hostWith(['torn', 'bad', ...MANY]);
      const small = await scene.hostWith(['lib-00']);
      await expect
        .poll(
          async () => {
            const path = `/api/v1/updates/by-host?agent_id=${large.agent.agentId}`;
            return (await scene.stage.operator.call('GET', path)).body;
          },
          { interval: 500 },
        )
        .toMatchObject({ items: [{ updates: 15, fixes: 1, unjudged: 0 }] });
      return { large, small };
    }

    test('unfold in place, lead to the rest, and are approved as a whole with what is left out', async () => {
      const { large, small } = await twoHosts();
      const page = await scene.openAs();
      await page.goto('/updates/by-host?host=story-*');
      const rows = page.getByRole('table', { name: 'Hosts with updates' }).getByRole('row');
      await rows.filter({ hasText: large.hostname }).waitFor();
      // The host with the worst fix comes first, and says how many of what.
      await expect.poll(() => rows.nth(1).textContent()).toContain(large.hostname);
      await expect.poll(() => rows.nth(1).textContent()).toContain('critical');
      const updates = () => page.getByRole('link', { name: /^(torn|bad|lib-)/ });
      expect(await updates().count()).toBe(0);
      await page.getByRole('button', { name: `Contents of ${large.hostname}` }).click();
      await updates().first().waitFor();
      await expect.poll(() => updates().first().textContent()).toBe('torn');
      await expect.poll(() => updates().count()).toBe(10);
      await inspect(page, 'updates-by-host');
      for (const width of [1024, 390]) {
        await page.setViewportSize({ width, height: 900 });
        await inspect(page, `updates-by-host-${width}`);
        expect(
          await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
        ).toBe(0);
      }
      await page.setViewportSize({ width: 1440, height: 900 });
      await page.getByRole('link', { name: 'and 5 more' }).waitFor();
      await page.getByRole('button', { name: 'Approve all 15 updates' }).click();
      const dialog = page.getByRole('dialog', { name: 'Approve 15 updates' });
      await dialog.getByText('14 updates on 1 host').waitFor();
      await dialog.getByText('Left out: 1 update').click();
      await dialog.getByText(`bad on ${large.hostname}: A package has a known vulnerability`).waitFor();
      await inspect(page, 'updates-by-host-approval');
      await dialog.getByRole('button', { name: 'Approve 15 updates' }).click();
      await page
        .getByRole('dialog', { name: 'Result' })
        .getByText('0 approved, 14 waiting for a plan, 1 blocked, 0 skipped')
        .waitFor();
      await page.keyboard.press('Escape');
      expect(await scene.stateOf(large.idOf('torn'))).toBe('awaiting_plan');
      expect(await scene.stateOf(large.idOf('bad'))).toBe('pending');
      expect(await scene.stateOf(small.idOf('lib-00'))).toBe('pending');
      await page.getByRole('link', { name: large.hostname, exact: true }).waitFor();
      await page.getByRole('link', { name: 'and 5 more' }).waitFor({ state: 'detached' });
      await expect.poll(() => updates().allTextContents()).toEqual(['bad']);
    });

    test('of a package show its hosts, by the keyboard alone', async () => {
      const page = await scene.openAs(VIEWER);
      await page.goto('/packages?q=bad');
      const row = page.getByRole('row').filter({ hasText: 'bad' }).first();
      await row.waitFor();
      await row.focus();
      await page.keyboard.press('ArrowRight');
      await page
        .getByRole('link', { name: /^story-/ })
        .first()
        .waitFor();
      await inspect(page, 'packages-unfolded');
      expect(await page.getByRole('button', { name: /^Approve/ }).count()).toBe(0);
      await page.keyboard.press('ArrowLeft');
      await page
        .getByRole('link', { name: /^story-/ })
        .first()
        .waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Contents of bad' }).focus();
      await page.keyboard.press('Enter');
      await page
        .getByRole('link', { name: /^story-/ })
        .first()
        .waitFor();
      // The rows of a group are no rows of the list.
      await row.focus();
      await page.keyboard.press('ArrowDown');
      expect(await page.evaluate('document.activeElement.textContent')).toContain('bad');
    });

    test('three groupings keep one filter', async () => {
      const page = await scene.openAs();
      await page.goto('/updates?ecosystem=apt&state=pending');
      await page.getByRole('link', { name: 'By host' }).click();
      await page.waitForURL((url) => url.pathname === '/updates/by-host');
      expect(new URL(page.url()).search).toBe('?ecosystem=apt');
      await page.getByRole('link', { name: 'By package' }).click();
      await page.waitForURL((url) => url.pathname === '/packages');
      expect(new URL(page.url()).search).toBe('?ecosystem=apt&state=pending');
      await expect
        .poll(() => page.getByRole('link', { name: 'By package' }).getAttribute('aria-current'))
        .toBe('page');
    });
  },
  { SERVICE_SWEEP_INTERVAL_SECONDS: '1' },
);
