import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';
import { OPERATOR } from '../harness/server-process.ts';

describeConsole('logging in to the console', { hosts: 2 }, (scene) => {
  test('a page asks for a login first and opens after it', async () => {
    const page = await scene.open();
    await page.goto('/hosts?q=web');
    await page.getByRole('heading', { name: 'Log in to Tidegate' }).waitFor();
    await inspect(page, 'login');
    await page.getByLabel('Username').fill(OPERATOR.username);
    await page.getByLabel('Password').fill('a wrong password');
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Password').fill(OPERATOR.password);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Hosts', exact: true }).waitFor();
    expect(new URL(page.url()).search).toBe('?q=web');
  });

  test.each(['//evil.example/', 'https://evil.example/', '/\\evil.example'])(
    'a link that wants %s after the login leads to the overview',
    async (next) => {
      const page = await scene.open();
      await page.goto(`/login?next=${encodeURIComponent(next)}`);
      await page.getByLabel('Username').fill(OPERATOR.username);
      await page.getByLabel('Password').fill(OPERATOR.password);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
      expect(new URL(page.url()).origin).toBe(scene.stage.server.url);
    },
  );

  test('a session begins with a new token each time, and no script can read it', async () => {
    const page = await scene.openAs();
    const tokenOf = async () =>
      (await page.context().cookies()).find(({ name }) => name === 'tidegate_session');
    const first = await tokenOf();
    await page.context().request.post('/api/v1/auth/login', { data: OPERATOR });
    const second = await tokenOf();
    expect(first?.value).not.toBe(second?.value);
    expect(second).toMatchObject({ httpOnly: true, sameSite: 'Strict' });
    await page.goto('/hosts');
    expect(await page.evaluate('document.cookie')).not.toContain('tidegate_session');
  });

  test('after logging out nothing of the session is left', async () => {
    const page = await scene.openAs();
    await page.goto('/');
    await page.getByRole('button', { name: new RegExp(OPERATOR.username) }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await page.getByRole('heading', { name: 'Log in to Tidegate' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Log in to Tidegate' }).waitFor();
    // The cookie that stays grants no access: it marks a browser that has logged in before.
    expect((await page.context().cookies()).map(({ name }) => name)).toEqual(['tidegate_device']);
  });

  test('the account menu works by keyboard from its first use on, and gives the focus back', async () => {
    const page = await scene.openAs();
    await page.goto('/');
    const button = page.getByRole('button', { name: new RegExp(OPERATOR.username) });
    const menu = page.getByRole('menu');
    for (const key of ['Enter', 'ArrowDown']) {
      await button.focus();
      await page.keyboard.press(key);
      await menu.waitFor();
      await page.keyboard.press('Escape');
      await menu.waitFor({ state: 'detached' });
      await button.and(page.locator(':focus')).waitFor();
    }
    await page.keyboard.press('Enter');
    // Keys before the menu has the focus are for the page.
    const items = menu.getByRole('menuitem');
    await items.and(page.locator(':focus')).waitFor();
    await page.keyboard.press('End');
    await items.last().and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Log in to Tidegate' }).waitFor();
  });

  test('a session that ends asks for the login in place, and what was typed survives', async () => {
    const page = await scene.openAs();
    await page.goto('/operators');
    await page.getByRole('button', { name: 'Add an operator' }).click();
    const form = page.getByRole('dialog', { name: 'Add an operator' });
    await form.getByLabel('Username').fill('walter');
    await form.getByLabel('Initial password').fill('correct horse battery');
    await page.context().clearCookies();
    await form.getByRole('button', { name: 'Save' }).click();
    const login = page.getByRole('dialog', { name: 'Log in again' });
    await login.waitFor();
    await expect.poll(() => login.getByLabel('Username').inputValue()).toBe(OPERATOR.username);
    await login.getByLabel('Password').and(page.locator(':focus')).waitFor();
    await inspect(page, 'login-again');
    await page.keyboard.type('a wrong password');
    await page.keyboard.press('Enter');
    await login.getByText('The username or the password is wrong.').waitFor();
    await login.getByLabel('Password').fill(OPERATOR.password);
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: /walter/ }).waitFor();
    expect(await login.count()).toBe(0);
    expect(new URL(page.url()).pathname).toBe('/operators');
  });

  test('the login can be put off: the page stays, and the next act asks again', async () => {
    const page = await scene.openAs();
    await page.goto('/operators');
    await page.getByRole('button', { name: 'Add an operator' }).click();
    const form = page.getByRole('dialog', { name: 'Add an operator' });
    await form.getByLabel('Username').fill('wanda');
    await form.getByLabel('Initial password').fill('correct horse battery');
    await page.context().clearCookies();
    const login = page.getByRole('dialog', { name: 'Log in again' });
    for (const _ of ['once', 'twice']) {
      await form.getByRole('button', { name: 'Save' }).click();
      await login.getByRole('button', { name: 'Close' }).click();
      await expect.poll(() => login.count()).toBe(0);
      await expect.poll(() => form.getByLabel('Username').inputValue()).toBe('wanda');
    }
  });

  test('the console cannot be framed', async () => {
    const page = await scene.open();
    const answer = await page.goto('/login');
    const headers = answer?.headers() ?? {};
    expect(headers['x-frame-options']).toBe('DENY');
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
  });
});
