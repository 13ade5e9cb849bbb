import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';

describeConsole('while the server is away', { hosts: 3 }, (scene) => {
  test('the list stays, says how old it is, and is live again after a restart', async () => {
    const page = await scene.openAs();
    await page.goto('/hosts');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('link', { name: /^web-/ }).first().waitFor();
    await scene.stage.server.kill();
    await page.getByRole('button', { name: 'Refresh the hosts' }).click();
    await page.getByText('The server does not answer', { exact: true }).first().waitFor();
    await expect.poll(() => page.getByRole('row').count()).toBe(1 + 3);
    await inspect(page, 'hosts-server-away');
    await scene.stage.server.restart();
    await page.getByText('Live', { exact: true }).waitFor();
    await expect.poll(() => page.getByText('The server does not answer').count()).toBe(0);
  });

  test('on a slow network the page that was asked for is shown as a skeleton, not the old one', async () => {
    const page = await scene.openAs();
    await page.goto('/settings');
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
    // Its own parts have loaded, so that "Loading" can only be said of the next page.
    const loading = page.getByText('Loading', { exact: true });
    await expect.poll(() => loading.count()).toBe(0);
    const { promise, resolve } = Promise.withResolvers<void>();
    await page.route('**/assets/events-page*.js', async (route) => {
      await promise;
      await route.continue();
    });
    await page.keyboard.press('g');
    await page.keyboard.press('e');
    await loading.waitFor();
    expect(await page.getByRole('heading', { level: 1, name: 'Settings' }).count()).toBe(0);
    resolve();
    await page.getByRole('heading', { level: 1, name: 'Events' }).waitFor();
  });

  test('an act fails with a message and the form keeps its input', async () => {
    const page = await scene.openAs();
    await page.goto('/operators');
    await page.getByRole('button', { name: 'Add an operator' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add an operator' });
    await dialog.getByLabel('Username').fill('walter');
    await dialog.getByLabel('Initial password').fill('correct horse battery');
    await scene.stage.server.kill();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('The server does not answer.').waitFor();
    await expect.poll(() => dialog.getByLabel('Username').inputValue()).toBe('walter');
    await scene.stage.server.restart();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: /walter/ }).waitFor();
  });

  test('a page that fails leaves the others working and is reported to the server (E7)', async () => {
    const page = await scene.openUnwatched();
    await page
      .context()
      .request.post('/api/v1/auth/login', { data: { username: 'olga', password: 'a long enough password' } });
    // A response of the wrong shape makes the page fail.
    await page.route('**/api/v1/updates?**', (route) =>
      route.fulfill({ json: { items: [{}], next_cursor: null, total: 1 } }),
    );
    await page.goto('/updates');
    await page.getByText('This page failed').waitFor();
    await inspect(page, 'page-failed');
    await page.getByRole('link', { name: 'Hosts', exact: true }).click();
    await page.getByRole('heading', { name: 'Hosts', exact: true }).waitFor();
    const reports = async () => (await scene.stage.operator.events({ type: 'client_error' })).length;
    await expect.poll(reports).toBeGreaterThan(0);
  });
});
