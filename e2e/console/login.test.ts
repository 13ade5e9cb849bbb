import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Browser, browserMissing, inspect, startBrowser } from '../harness/browser.ts';
import { type ConsoleStage, openConsoleStage } from '../harness/console-stage.ts';
import { OPERATOR } from '../harness/server-process.ts';

const missing = browserMissing();

describe.skipIf(missing !== null)(`logging in to the console${missing ? ` (${missing})` : ''}`, () => {
  let stage: ConsoleStage;
  let browser: Browser;
  beforeAll(async () => {
    stage = await openConsoleStage({ hosts: 2 });
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await stage?.[Symbol.asyncDispose]();
  });

  test('who is not logged in is asked, and comes to the place that was wanted', async () => {
    const page = await browser.open(stage.server.url);
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
      const page = await browser.open(stage.server.url);
      await page.goto(`/login?next=${encodeURIComponent(next)}`);
      await page.getByLabel('Username').fill(OPERATOR.username);
      await page.getByLabel('Password').fill(OPERATOR.password);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
      expect(new URL(page.url()).origin).toBe(stage.server.url);
    },
  );

  test('a session begins with a new token each time, and no script can read it', async () => {
    const page = await browser.openAs(stage.server.url);
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
    const page = await browser.openAs(stage.server.url);
    await page.goto('/');
    await page.getByRole('button', { name: new RegExp(OPERATOR.username) }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await page.getByRole('heading', { name: 'Log in to Tidegate' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Log in to Tidegate' }).waitFor();
    expect((await page.context().cookies()).map(({ name }) => name)).toEqual([]);
  });

  test('the console cannot be framed', async () => {
    const page = await browser.open(stage.server.url);
    const answer = await page.goto('/login');
    const headers = answer?.headers() ?? {};
    expect(headers['x-frame-options']).toBe('DENY');
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
  });
});
