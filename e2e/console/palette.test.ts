import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';

const VIEWER = { username: 'vera', password: 'a long enough password', role: 'viewer' } as const;

const focused = (page: Page) =>
  page.evaluate('document.activeElement?.getAttribute("placeholder") ?? document.activeElement?.tagName');

describeConsole('the palette of the console', { hosts: 4, operators: [VIEWER] }, (scene) => {
  async function openPalette(operator?: typeof VIEWER): Promise<Page> {
    const page = await scene.openAs(operator);
    await page.goto('/hosts');
    await page.getByRole('link', { name: /^web-/ }).first().waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Search or act' }).waitFor();
    return page;
  }
  const option = (page: Page, name: string | RegExp) => page.getByRole('option', { name });

  test('it takes what is typed at once, and finds hosts, packages, operators and pages', async () => {
    const page = await openPalette();
    expect(await focused(page)).toBe('A host, package, CVE, operator, page or act');
    await page.keyboard.type('web-00002');
    await option(page, /^web-00002/).waitFor();
    await inspect(page, 'palette-found');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: /^web-00002/ }).waitFor();
    const { body } = await scene.stage.operator.call('GET', '/api/v1/packages?limit=1');
    const name = /"name":"([^"]+)"/.exec(JSON.stringify(body))?.[1] ?? '';
    await page.keyboard.press('Control+k');
    await page.keyboard.type(name);
    await option(page, new RegExp(`^${name} `))
      .first()
      .click();
    await page.waitForURL((url) => url.searchParams.get('name') === name);
    await page.keyboard.press('Control+k');
    await page.keyboard.type('vera');
    await option(page, 'vera').click();
    await page.getByRole('heading', { level: 1, name: 'Operators' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('reboots');
    await option(page, 'Reboots').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Reboots' }).waitFor();
  });

  test('it remembers what was opened last, until the logout', async () => {
    const page = await openPalette(VIEWER);
    await page.keyboard.type('web-00001');
    await option(page, /^web-00001/).click();
    await page.getByRole('heading', { level: 1, name: /^web-00001/ }).waitFor();
    await page.goto('/');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('Control+k');
    await option(page, /^web-00001/).waitFor();
    await inspect(page, 'palette-recent');
    await page.keyboard.type('log out');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/login**');
    expect(await page.evaluate('Object.keys(localStorage).filter((key) => key.includes("recents"))')).toEqual(
      [],
    );
  });

  test('what a viewer may not see is not asked for, and an older text is not waited for', async () => {
    const page = await openPalette(VIEWER);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.keyboard.type('nothing-has-this-name');
    await page.getByText('Nothing is called “nothing-has-this-name”.').waitFor();
    expect(asked.filter((path) => path.includes('operators'))).toEqual([]);
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  });
});
