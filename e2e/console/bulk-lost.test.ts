import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeUpdates } from '../harness/update-scene.ts';

const APPROVE = '**/api/v1/updates/approve';

describeUpdates('a bulk approval whose answer is lost', (scene) => {
  /** Opens the dialog for all updates of a host. */
  async function openDialog(page: Page, hostname: string) {
    await page.goto(`/updates?state=pending&host=${hostname}`);
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
    await page.getByRole('button', { name: /^Approve/ }).click();
    return page.getByRole('dialog');
  }

  test('shows the result once the server is back, and guesses nothing until then', async () => {
    const { hostname, idOf } = await scene.hostWith(['bad', 'good']);
    const page = await scene.openAs();
    await page.route(APPROVE, async (route) => {
      await route.fetch(); // the server runs the request but dies before it answers
      await scene.stage.server.kill();
      await route.abort('connectionreset');
    });
    const dialog = await openDialog(page, hostname);
    await dialog.getByRole('button', { name: 'Approve 2 updates' }).click();
    await dialog.getByText('The connection was lost.').waitFor();
    await inspect(page, 'bulk-lost');
    // The progress may be shown, but not a result.
    expect(await dialog.getByText(/^\d+ approved, .* skipped$/).count()).toBe(0);
    await scene.stage.server.restart();
    await dialog.getByText('1 approved, 0 waiting for a plan, 1 blocked, 0 skipped').waitFor();
    await dialog.getByText('A package has a known vulnerability').waitFor();
    expect(await scene.stateOf(idOf('good'))).toBe('approved');
    expect(await scene.stateOf(idOf('bad'))).toBe('pending');
  });

  test('is reported as not received, and sent again with the same id', async () => {
    const { hostname, idOf } = await scene.hostWith(['lone']);
    const page = await scene.openAs();
    const sent: unknown[] = [];
    await page.route(APPROVE, (route) => {
      sent.push(route.request().postDataJSON());
      return sent.length === 1 ? route.abort('connectionreset') : route.continue();
    });
    const dialog = await openDialog(page, hostname);
    await dialog.getByRole('button', { name: 'Approve 1 update' }).click();
    await dialog.getByText('The server did not receive the request').waitFor();
    expect(await scene.stateOf(idOf('lone'))).toBe('pending');
    await dialog.getByRole('button', { name: 'Approve 1 update' }).click();
    await dialog.getByText('1 approved, 0 waiting for a plan, 0 blocked, 0 skipped').waitFor();
    expect(sent).toEqual([sent[0], sent[0]]);
  });

  test('runs once when both copies arrive, and shows the first result', async () => {
    const { hostname } = await scene.hostWith(['twice']);
    const page = await scene.openAs();
    let sent = 0;
    let progress = 0;
    await page.route(APPROVE, async (route) => {
      sent += 1;
      if (sent > 1) return route.continue();
      await route.abort('connectionreset');
    });
    // The first copy is still on its way when the page asks about it, and arrives before the second.
    await page.route('**/api/v1/bulk/*', (route) =>
      progress++ === 0 || sent === 1 ? route.fulfill(NOT_FOUND) : route.continue(),
    );
    const dialog = await openDialog(page, hostname);
    const request = page.waitForRequest(APPROVE);
    await dialog.getByRole('button', { name: 'Approve 1 update' }).click();
    await dialog.getByText('The server did not receive the request').waitFor();
    const late = await scene.stage.operator.call(
      'POST',
      '/api/v1/updates/approve',
      (await request).postDataJSON(),
    );
    expect(late.status).toBe(200);
    await dialog.getByRole('button', { name: 'Approve 1 update' }).click();
    await dialog.getByText('1 approved, 0 waiting for a plan, 0 blocked, 0 skipped').waitFor();
    expect(sent).toBe(2);
  });
});

const NOT_FOUND = {
  status: 404,
  contentType: 'application/problem+json',
  body: JSON.stringify({
    ...{ type: 'about:blank', title: 'Not found', status: 404, code: 'not_found' },
    ...{ detail: 'You have sent no such request within the last hour.', request_id: 'r' },
  }),
};
