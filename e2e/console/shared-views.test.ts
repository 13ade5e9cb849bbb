import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';

const VIEWER = { username: 'vera', password: 'a long enough password', role: 'viewer' } as const;
const HOSTILE = '<img src=x onerror=alert(1)> {{7*7}}';

describeConsole('shared views in the console', { hosts: 2, operators: [VIEWER] }, (scene) => {
  const open = async (page: Page, path: string) => {
    await page.goto(path);
    await page.getByRole('button', { name: 'Views' }).click();
    return page.getByRole('dialog', { name: 'Saved views' });
  };

  test('an admin shares a view with everybody: a viewer can open it but not delete it', async () => {
    const admins = await open(await scene.openAs(), '/updates?state=pending&ecosystem=apt&sort=-severity');
    await admins.getByLabel('Save this filter as').fill(HOSTILE);
    await admins.getByLabel('share with everybody').check();
    await admins.getByRole('button', { name: 'Save the view' }).click();
    await admins.getByText('shared by olga').waitFor();

    const page = await scene.openAs(VIEWER);
    const views = await open(page, '/updates?state=failed');
    const view = views.getByRole('button', { name: `${HOSTILE} · shared by olga` });
    await view.waitFor();
    await inspect(page, 'updates-shared-view');
    expect(await views.getByRole('button', { name: /^Delete/ }).count()).toBe(0);
    expect(await views.getByLabel('share with everybody').count()).toBe(0);
    expect(await page.locator('img[src=x]').count()).toBe(0);
    await view.click();
    await expect
      .poll(() => new URL(page.url()).searchParams.toString())
      .toBe('state=pending&ecosystem=apt&sort=-severity');
  });

  test('views belong to one page, and a view that is not shared to one operator', async () => {
    const viewers = await open(await scene.openAs(VIEWER), '/packages?ecosystem=dnf');
    await viewers.getByLabel('Save this filter as').fill('only mine');
    await viewers.getByRole('button', { name: 'Save the view' }).click();
    await viewers.getByRole('button', { name: 'only mine', exact: true }).waitFor();
    expect(await viewers.getByText('shared by').count()).toBe(0);
    const admins = await open(await scene.openAs(), '/packages');
    await admins.getByText('No view is saved yet.').waitFor();
  });

  test('a shared view that is deleted disappears for everybody', async () => {
    for (const name of ['for a while', 'for ever']) {
      const view = { name, page: 'updates', query: { state: 'pending' }, shared: true };
      expect((await scene.stage.operator.call('POST', '/api/v1/views', view)).status).toBe(201);
    }
    const page = await scene.openAs();
    const admins = await open(page, '/updates?state=pending');
    await admins.getByRole('button', { name: 'Delete the view for a while' }).click();
    await page.getByText('The view for a while is deleted.').waitFor();
    const viewers = await open(await scene.openAs(VIEWER), '/updates?state=pending');
    await viewers.getByRole('button', { name: 'for ever · shared by olga' }).waitFor();
    expect(await viewers.getByText('for a while').count()).toBe(0);
  });
});
