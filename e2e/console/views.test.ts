import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeUpdates } from '../harness/update-scene.ts';

/** Waits longer than by default, as a busy machine renders slowly. */
const poll = <T>(look: () => T) => expect.poll(look, { timeout: 20_000 });
const rows = (page: Page) => page.locator('main tbody tr');

describeUpdates('saved views in the console', (scene) => {
  test('a view saves a filter under a name, opens it again, and can be restored after its deletion', async () => {
    const page = await scene.openAs();
    await page.goto('/updates?state=pending&ecosystem=dnf&sort=-severity');
    await poll(() => rows(page).count()).toBeGreaterThan(0);
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
    await poll(() => new URL(page.url()).searchParams.toString()).toBe(
      'state=pending&ecosystem=dnf&sort=-severity',
    );
    await page.getByRole('button', { name: 'Delete the view What dnf hosts wait for' }).click();
    await view.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('dialog', { name: 'Saved views' }).waitFor({ state: 'detached' });
    await views.click();
    await view.waitFor();
  });
});
