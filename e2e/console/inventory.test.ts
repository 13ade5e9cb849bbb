import type { InventoryReport } from '@tidegate/protocol/agent-api';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';
import { addHost } from '../harness/offer-updates.ts';

const VIEWER = { username: 'vera', password: 'a long enough password', role: 'viewer' } as const;
const HOSTILE = `"><img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}} gnp.exe`;
const rows = (page: Page) => page.locator('main tbody tr');

const reportOf = (more: Partial<InventoryReport>): InventoryReport => ({
  ...{ scanned_at: new Date().toISOString(), complete: true, packages: [], updates: [] },
  ...more,
});

describeConsole('what is installed on a host, in the console', { hosts: 2, operators: [VIEWER] }, (scene) => {
  const newHost = (name: string) =>
    addHost({ url: scene.stage.server.url, operator: scene.stage.operator }, name);

  test('is reached from the host, searched, filtered, sorted and paged by its URL, and links to the updates', async () => {
    const online = () => scene.stage.operator.call('GET', '/api/v1/agents?online=true&q=web-00001');
    await expect.poll(async () => (await online()).body).toMatchObject({ total: 1 });
    const page = await scene.openAs(VIEWER);
    await page.goto('/hosts?q=web-00001');
    await page.getByRole('link', { name: 'web-00001.example.invalid' }).click();
    await page.getByRole('link', { name: 'What is installed' }).click();
    await page.getByRole('heading', { name: 'Packages of web-00001.example.invalid' }).waitFor();
    await page.getByRole('table', { name: 'Packages of web-00001.example.invalid' }).waitFor();
    await page.getByText('40 packages', { exact: true }).first().waitFor();
    await page.getByText(/The host confirms this list at each check-in/).waitFor();
    await inspect(page, 'inventory');

    const first = await rows(page).first().innerText();
    await page.getByRole('button', { name: 'Package', exact: true }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get('sort')).toBe('-name');
    await expect.poll(() => rows(page).last().innerText()).toBe(first);
    await page.getByLabel('Update', { exact: true }).selectOption('has one');
    await expect.poll(() => rows(page).count()).toBe(6);
    await page.getByRole('searchbox', { name: 'Package name' }).fill('no such package');
    await page.getByRole('heading', { name: 'No packages match the filter' }).waitFor();
    await page.getByRole('button', { name: 'Clear the filter' }).click();
    await expect.poll(() => rows(page).count()).toBe(40);

    await page.goto(`${new URL(page.url()).pathname}?update=true`);
    await expect.poll(() => rows(page).count()).toBe(6);
    await rows(page).first().getByRole('link').last().click();
    await page.waitForURL(/\/updates\/[0-9a-f-]{36}$/);
  });

  test('several pages of packages can be paged forth and back', async () => {
    const { agentId, report } = await newHost('large');
    const packages = Array.from({ length: 120 }, (_, n) => ({
      ...{ name: `package-${String(n).padStart(3, '0')}`, version: '1', arch: 'amd64' },
    }));
    await report(reportOf({ packages }));
    const page = await scene.openAs();
    await page.goto(`/hosts/${agentId}/inventory`);
    const starts = () => rows(page).first().innerText();
    await expect.poll(starts).toContain('package-000');
    for (const start of ['package-050', 'package-100']) {
      await page.getByRole('button', { name: 'Next' }).click();
      await expect.poll(starts).toContain(start);
    }
    await expect.poll(() => rows(page).count()).toBe(20);
    await page.getByRole('button', { name: 'Previous' }).click();
    await expect.poll(starts).toContain('package-050');
  });

  test('without a report the packages are unknown, whatever the filter; a report appears without a reload', async () => {
    const agent = await newHost('silent');
    const page = await scene.openAs();
    await page.goto(`/hosts/${agent.agentId}/inventory?q=openssl`);
    await page.getByRole('heading', { name: 'No inventory received yet' }).waitFor();
    await page.getByText('What is installed on this host is not known').waitFor();
    expect(await page.getByRole('heading', { name: 'No packages match the filter' }).count()).toBe(0);
    await inspect(page, 'inventory-none');
    await page.getByText('Live', { exact: true }).waitFor();
    const openssl = { name: 'openssl', arch: 'amd64' };
    await agent.report(
      reportOf({
        complete: false,
        packages: [{ ...openssl, version: '3.0.1-1' }],
        updates: [{ ...openssl, current_version: '3.0.1-1', available_version: '3.0.2-1' }],
      }),
    );
    await page.getByRole('link', { name: 'Update of openssl to 3.0.2-1' }).waitFor();
    await page.getByText('incomplete: there may be more').waitFor();
  });

  test('a report without packages differs from no report', async () => {
    const { agentId, report } = await newHost('bare');
    await report(reportOf({}));
    const page = await scene.openAs();
    await page.goto(`/hosts/${agentId}/inventory`);
    await page.getByRole('heading', { name: 'The host reported that nothing is installed' }).waitFor();
  });

  test('hostile names, versions and folders are text and do not break the layout', async () => {
    const { agentId, report } = await newHost('hostile');
    await report(
      reportOf({
        packages: [
          { name: HOSTILE, version: HOSTILE, arch: HOSTILE, source_name: HOSTILE, source_version: HOSTILE },
          { name: 'x'.repeat(214), version: '1'.repeat(256), arch: 'y'.repeat(256), held: true },
        ],
      }),
    );
    const page = await scene.openAs();
    await page.goto(`/hosts/${agentId}/inventory`);
    await expect.poll(() => rows(page).count()).toBe(2);
    await page.getByText(HOSTILE, { exact: true }).first().waitFor();
    expect(await page.locator('main img[src=x], main script').count()).toBe(0);
    await page.getByText('held', { exact: true }).waitFor();
    await inspect(page, 'inventory-hostile');
  });

  test('the list of a host that no longer checks in says that it may be out of date', async () => {
    const { agentId, report } = await newHost('lost');
    await report(reportOf({ packages: [{ name: 'openssl', version: '3.0.1-1', arch: 'amd64' }] }));
    await scene.stage.operator.call('POST', `/api/v1/agents/${agentId}/revoke`, {});
    const page = await scene.openAs();
    await page.goto(`/hosts/${agentId}/inventory`);
    await page.getByText('may be out of date', { exact: true }).waitFor();
    await page.getByText(/its current packages are not known/).waitFor();
    await inspect(page, 'inventory-stale');
  });

  test('an error shows its message and request id, and can be retried', async () => {
    const page = await scene.openAs();
    const { agentId } = await newHost('failing');
    const problem = { type: 'about:blank', title: 'Internal Server Error', status: 500, code: 'internal' };
    await page.route('**/api/v1/agents/*/inventory*', (route) =>
      route.fulfill({
        status: 500,
        headers: { 'content-type': 'application/problem+json', 'x-request-id': 'request-of-this-story' },
        body: JSON.stringify({
          ...problem,
          detail: 'The server failed.',
          request_id: 'request-of-this-story',
        }),
      }),
    );
    await page.goto(`/hosts/${agentId}/inventory`);
    const alert = page.getByRole('alert');
    await alert.getByText('The server failed.').waitFor();
    await alert.getByText('request-of-this-story').waitFor();
    await page.unroute('**/api/v1/agents/*/inventory*');
    await alert.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'No inventory received yet' }).waitFor();
  });
});
