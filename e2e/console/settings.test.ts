import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';

const VIEWER = { username: 'vera', password: 'a long enough password', role: 'viewer' } as const;

describeConsole('settings in the console', { hosts: 1, operators: [VIEWER] }, (scene) => {
  test('the server settings are shown, and the appearance is chosen and kept', async () => {
    const page = await scene.openAs();
    await page.goto('/settings');
    await page.getByText('none detected').waitFor();
    await page.getByText(new URL(scene.stage.server.url).origin).waitFor();
    await inspect(page, 'settings');
    await page.getByLabel('Dark').check();
    await page.getByLabel('Compact').check();
    const chosen = () => page.evaluate('JSON.stringify(document.documentElement.dataset)');
    expect(JSON.parse(String(await chosen()))).toEqual({ theme: 'dark', density: 'compact' });
    await page.reload();
    await expect
      .poll(async () => JSON.parse(String(await chosen())))
      .toEqual({ theme: 'dark', density: 'compact' });
    await page.getByRole('checkbox', { name: /Single-key shortcuts/ }).uncheck();
    await page.keyboard.press('Tab');
    await page.getByRole('heading', { name: 'Settings', exact: true }).click();
    await page.keyboard.press('g');
    await page.keyboard.press('h');
    await page.getByRole('checkbox', { name: /Single-key shortcuts/ }).check();
    await page.getByRole('heading', { name: 'Settings', exact: true }).click();
    await page.keyboard.press('g');
    await page.keyboard.press('h');
    await page.getByRole('heading', { name: 'Hosts', exact: true }).waitFor();
  });

  test('a viewer sees them without the controls of an admin', async () => {
    const page = await scene.openAs(VIEWER);
    await page.goto('/settings');
    await page.getByText('none detected').waitFor();
    await page.getByText('Nobody has decided yet').waitFor();
    expect(await page.getByRole('button', { name: 'Decide' }).count()).toBe(0);
    expect(await page.getByRole('button', { name: /resync/i }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Rate limits' }).count()).toBe(0);
  });
});
