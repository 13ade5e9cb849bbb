import { tmpDir } from '@tidegate/testkit/tmp';
import type { Locator } from 'playwright-core';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { expect, onTestFinished, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { ctlFor } from '../harness/ctl.ts';
import { describeUpdates, VIEWER } from '../harness/update-scene.ts';

const CVE = 'CVE-2026-7';
/** What other databases call it. */
const ALIASES = [`DEBIAN-${CVE}`, 'GHSA-35jh-r3h4-6jhm', 'DSA-3029-1', 'RHSA-2026:4546'];
const Hosts = Type.Object({ items: Type.Array(Type.Object({ hostname: Type.String() })) });
const CLICKS_MAX = 4;
const NARROW = { width: 390, height: 844 };
const WIDE = { width: 1440, height: 900 };
const SIDEWAYS = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';

describeUpdates(
  'vulnerabilities in the console',
  (scene) => {
    test('from a CVE in the news to its approved fix in at most four clicks', async () => {
      for (const id of ALIASES)
        scene.stage.osv.addRecord({ id, upstream: [CVE], summary: 'A bad parser' }, [
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
          { interval: 500 },
        )
        .toMatchObject({ hosts: 2, fixable_hosts: 2 });
      const page = await scene.openAs();
      await page.goto(`/updates/${hosts[0]?.idOf('lost')}`);
      const link = page.getByRole('link', { name: CVE, exact: true }).first();
      await link.waitFor();
      // Four databases tell of it, and it is one.
      await page.getByRole('heading', { name: 'Fixed by this update (1)' }).waitFor();
      await page.getByText(`also ${ALIASES.slice(1).sort().join(', ')}`).waitFor();
      await inspect(page, 'update-fixes');
      await page.setViewportSize(NARROW);
      expect(await page.evaluate(SIDEWAYS)).toBe(0);
      await inspect(page, 'update-fixes-390', ['light']);
      await page.setViewportSize(WIDE);
      await link.click();
      await page.getByRole('heading', { name: CVE, exact: true }).waitFor();
      let clicks = 0;
      const click = async (target: Locator) => {
        clicks += 1;
        await target.click();
      };
      await page.goto('/vulnerabilities');
      await page.getByText('2 now').waitFor();
      await inspect(page, 'vulnerabilities');
      const header = (name: string) => page.getByRole('columnheader', { name, exact: true });
      expect(await header('Exploited').getAttribute('aria-sort'), 'the most urgent first').toBe('descending');
      await header('Hosts').getByRole('button').click();
      await expect.poll(() => header('Exploited').getAttribute('aria-sort')).toBe('none');
      await header('Exploited').getByRole('button').click();
      await page.waitForURL((url) => url.searchParams.get('sort') === '-urgency');
      await click(page.getByRole('link', { name: CVE, exact: true }));
      await page.getByText('lost 3.0.12-1 waits for your approval').first().waitFor();
      await inspect(page, 'vulnerability');
      await page.setViewportSize(NARROW);
      expect(await page.evaluate(SIDEWAYS)).toBe(0);
      await inspect(page, 'vulnerability-390', ['light']);
      await page.setViewportSize(WIDE);
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
      const alias = `debian-${CVE.toLowerCase()}`;
      // Each record adds its names when it is judged; until then the alias is a vulnerability of its own.
      await expect
        .poll(async () => (await scene.stage.operator.call('GET', `/api/v1/vulnerabilities/${alias}`)).body, {
          interval: 500,
        })
        .toMatchObject({ id: CVE });
      const page = await scene.openAs(VIEWER);
      await page.goto(`/vulnerabilities/${alias}`);
      await page.getByRole('heading', { name: CVE, exact: true }).waitFor();
      await page.getByRole('link', { name: 'story-1', exact: true }).waitFor();
      expect(await page.getByRole('button', { name: /^Fix/ }).count()).toBe(0);
    });

    test('the palette and the filter of updates find it by any of its ids, in any case', async () => {
      const page = await scene.openAs(VIEWER);
      for (const alias of ALIASES) {
        await page.goto('/hosts');
        await page.getByRole('heading', { name: 'Hosts', exact: true }).waitFor();
        await page.keyboard.press('Control+k');
        await page.getByRole('dialog', { name: 'Search or act' }).waitFor();
        await page.keyboard.type(alias.toLowerCase());
        await page.getByRole('option', { name: `${CVE} (${alias}): A bad parser` }).click();
        await page.getByRole('heading', { name: CVE, exact: true }).waitFor();
        await page.goto('/updates?state=approved');
        const box = page.getByRole('searchbox', { name: 'Filter' });
        await expect.poll(() => box.inputValue()).toBe('state:approved');
        await box.fill(`state:approved cve:${alias.toLowerCase()}`);
        await page.waitForURL((url) => url.searchParams.get('cve') === alias.toLowerCase());
        await page.getByText('2 updates', { exact: true }).first().waitFor();
      }
    });

    test('the page of packages leads to the hosts that have one, and tidegatectl finds the same', async () => {
      const folder = tmpDir('tidegate-hosts-');
      onTestFinished(() => folder.remove());
      const { server, operator } = scene.stage;
      const ctl = ctlFor(server.url, { folder: folder.path, token: operator.token });
      const hosts = async (...args: string[]) => {
        const { items } = Value.Parse(Hosts, await ctl.json('hosts', 'list', '--sort', 'hostname', ...args));
        return items.map(({ hostname }) => hostname);
      };
      const both = ['story-1', 'story-2'];
      const other = await scene.hostWith(['sole']);
      for (const cve of [CVE, ...ALIASES]) expect([cve, await hosts('--cve', cve)]).toEqual([cve, both]);
      expect(await hosts('--package', 'lost')).toEqual(both);
      expect(await hosts('--package', 'lost', '--below', '1.0.1')).toEqual(both);
      expect(await hosts('--package', 'lost', '--below', '1.0.0')).toEqual([]);
      expect(await hosts('--package', 'lost', '--ecosystem', 'dnf')).toEqual([]);
      expect(await hosts('--package', 'sole')).toEqual([other.hostname]);
      expect(await hosts('--cve', 'CVE-2026-99')).toEqual([]);
      expect(await ctl.run('hosts', 'list', '--below', '2')).toMatchObject({
        code: 1,
        err: expect.stringContaining('package'),
      });

      const page = await scene.openAs(VIEWER);
      await page.goto('/packages?name=lost');
      await page.getByRole('link', { name: 'which hosts have lost' }).waitFor();
      await inspect(page, 'packages-to-hosts');
      await page.setViewportSize(NARROW);
      await inspect(page, 'packages-to-hosts-390', ['light']);
      await page.getByRole('link', { name: 'which hosts have lost' }).click();
      await page.getByText('2 hosts', { exact: true }).first().waitFor();
      expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
        package: 'lost',
        ecosystem: 'apt',
      });
      for (const name of both) await page.getByRole('link', { name, exact: true }).first().waitFor();
    });

    test('the page says since when it is exploited, and by when CISA asks for the fix', async () => {
      const page = await scene.openAs(VIEWER);
      await page.route(`**/api/v1/vulnerabilities/${CVE}`, async (route) => {
        const response = await route.fetch();
        const listed = { exploited: true, exploited_since: '2026-11-01', fix_due_on: '2026-11-22' };
        await route.fulfill({ response, json: { ...(await response.json()), ...listed } });
      });
      await page.goto(`/vulnerabilities/${CVE}`);
      await page.getByText('since 2026-11-01; CISA asks for the fix by 2026-11-22').waitFor();
      await inspect(page, 'vulnerability-exploited');
    });
  },
  { SERVICE_SWEEP_INTERVAL_SECONDS: '1' },
);
