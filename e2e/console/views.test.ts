import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeUpdates } from '../harness/update-scene.ts';

const rows = (page: Page) => page.locator('main tbody tr');

describeUpdates('saved views in the console', (scene) => {
  test('a view saves a filter under a name, opens it again, and can be restored after its deletion', async () => {
    const page = await scene.openAs();
    await page.goto('/updates?state=pending&ecosystem=dnf&sort=-severity');
    await expect.poll(() => rows(page).count()).toBeGreaterThan(0);
    const views = page.getByRole('button', { name: 'Views' });
    await views.click();
    await page.getByLabel('Save this filter as').fill('What dnf hosts wait for');
    await page.getByRole('button', { name: 'Save the view' }).click();
    const view = page.getByRole('button', { name: 'What dnf hosts wait for', exact: true });
    await view.waitFor();
    await inspect(page, 'updates-views');
    await page.keyboard.press('Escape');
    await page.goto('/updates?state=failed');
    await views.click();
    await view.click();
    await expect
      .poll(() => new URL(page.url()).searchParams.toString())
      .toBe('state=pending&ecosystem=dnf&sort=-severity');
    await page.getByRole('button', { name: 'Delete the view What dnf hosts wait for' }).click();
    await view.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('dialog', { name: 'Saved views' }).waitFor({ state: 'detached' });
    await views.click();
    await view.waitFor();
  });

  test('the hosts that have a package below a version are a view as well', async () => {
    await scene.hostWith(['viewed']);
    const page = await scene.openAs();
    await page.goto('/hosts?package=viewed&below=2.0&ecosystem=apt&sort=-last_seen_at');
    await page.getByText('1 host', { exact: true }).first().waitFor();
    const views = page.getByRole('button', { name: 'Views' });
    await views.click();
    await page.getByLabel('Save this filter as').fill('Old ones');
    await page.getByRole('button', { name: 'Save the view' }).click();
    const view = page.getByRole('button', { name: 'Old ones', exact: true });
    await view.waitFor();
    await inspect(page, 'hosts-views');
    await page.setViewportSize({ width: 390, height: 844 });
    await inspect(page, 'hosts-views-390', ['light']);
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto('/hosts?status=online&cve=CVE-2026-1');
    await views.click();
    await view.click();
    await expect
      .poll(() => Object.fromEntries(new URL(page.url()).searchParams))
      .toEqual({
        ...{ package: 'viewed', below: '2.0', ecosystem: 'apt', sort: '-last_seen_at' },
      });
    await page.getByText('1 host', { exact: true }).first().waitFor();
    await page.goto('/updates');
    await views.click();
    await page
      .getByText('No view is saved yet.')
      .or(page.getByRole('button', { name: /^Delete the view/ }))
      .first()
      .waitFor();
    expect(await view.count()).toBe(0);
  });
});
