import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';

const VIEWER = { username: 'vera', password: 'a long enough password', role: 'viewer' } as const;
const GROUPS = ['Today', 'Vulnerabilities and updates', 'Hosts', 'Activity'];

describeConsole('the menu of the console', { hosts: 3, operators: [VIEWER] }, (scene) => {
  test('the pages are in five groups; a number beside a page is the number of rows of its list', async () => {
    const page = await scene.openAs();
    await page.goto('/');
    const pages = page.getByRole('navigation', { name: 'Pages', exact: true });
    for (const name of GROUPS) await pages.getByRole('list', { name, exact: true }).waitFor();
    await pages.getByTitle('3 hosts').waitFor();
    const waiting = await pages.getByTitle(/waiting for approval/).getAttribute('title');
    await pages.getByRole('link', { name: 'Updates', exact: true }).click();
    await page
      .getByText(`${waiting?.split(' ')[0]} updates`)
      .first()
      .waitFor();
    await pages.getByRole('link', { name: 'Hosts', exact: true }).click();
    await expect.poll(() => page.locator('main tbody tr').count()).toBe(3);
  });

  test('administration is folded until the keyboard opens it, or one of its pages is shown', async () => {
    const page = await scene.openAs();
    await page.goto('/');
    const pages = page.getByRole('navigation', { name: 'Pages', exact: true });
    const fold = pages.getByRole('button', { name: 'Administration' });
    await fold.waitFor();
    expect(await pages.getByRole('link', { name: 'Operators' }).count()).toBe(0);
    await fold.press('Enter');
    await pages.getByRole('link', { name: 'Operators' }).press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Operators' }).waitFor();
    await page.reload();
    await expect.poll(() => pages.locator('[aria-current=page]').innerText()).toBe('Operators');
    await inspect(page, 'menu-administration');
  });

  test('a viewer is not offered the pages of admins', async () => {
    const page = await scene.openAs(VIEWER);
    await page.goto('/settings');
    const pages = page.getByRole('navigation', { name: 'Pages', exact: true });
    await pages.getByRole('link', { name: 'Settings', exact: true }).waitFor();
    for (const name of ['Operators', 'Rate limits', 'Notifications', 'Add hosts'])
      expect(await pages.getByRole('link', { name, exact: true }).count(), name).toBe(0);
  });
});
