import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { OFFERED } from '../harness/offer-updates.ts';
import { describeUpdates, FINDING } from '../harness/update-scene.ts';

/** Waits longer than by default, as a busy machine renders slowly. */
const poll = <T>(look: () => T) => expect.poll(look, { timeout: 20_000 });
const rows = (page: Page) => page.locator('main tbody tr');
const filterBox = (page: Page) => page.getByRole('searchbox', { name: 'Filter' });

/** The action of a plan that brings the offered version of a package. */
function actionOf(name: string, more: object = {}) {
  return {
    ...{ action: 'upgrade', name, arch: 'amd64', from_version: '1.0.0', to_version: OFFERED.apt },
    ...{ source_name: name, source_version: OFFERED.apt, origin: 'Debian:12/stable' },
    artifact: {
      ...{ filename: `${name}.pkg`, url: `https://mirror.example/${name}.pkg` },
      ...{ size_bytes: 10_345, sha256: 'a'.repeat(64) },
    },
    ...more,
  };
}

describeUpdates('updates in the console', (scene) => {
  test('an update is found, opened and approved by keyboard alone', async () => {
    const { hostname, idOf } = await scene.hostWith(['one', 'two']);
    const page = await scene.openAs();
    await page.goto('/');
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('u');
    await page.getByRole('heading', { name: 'Updates', exact: true }).waitFor();
    await poll(() => filterBox(page).isEnabled()).toBe(true);
    await page.keyboard.press('/');
    await page.keyboard.press('Control+a');
    await page.keyboard.type(`two state:pending host:${hostname}`);
    await page.keyboard.press('Enter');
    await poll(() => rows(page).count()).toBe(1);
    await poll(() => page.evaluate('document.activeElement?.tagName')).toBe('TR');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: `two on ${hostname}` }).waitFor();
    await page.getByRole('button', { name: `Approve: installs 1 package on ${hostname}` }).waitFor();
    await page.keyboard.press('a');
    await page.getByText(`two on ${hostname} is approved.`).waitFor();
    expect(await scene.stateOf(idOf('two'))).toBe('approved');
    expect(await scene.stateOf(idOf('one'))).toBe('pending');
  });

  test('the first visit shows pending updates; text, chips and selects are one filter', async () => {
    const page = await scene.openAs();
    await page.goto('/updates');
    const chips = page.getByRole('list', { name: 'Active filters' });
    await chips.getByRole('button', { name: /state: pending/ }).waitFor();
    await poll(() => filterBox(page).inputValue()).toBe('state:pending');
    await page.getByLabel('Ecosystem', { exact: true }).selectOption('apt');
    await poll(() => filterBox(page).inputValue()).toBe('state:pending ecosystem:apt');
    await chips.getByRole('button', { name: /state: pending/ }).click();
    await poll(() => new URL(page.url()).search).toBe('?ecosystem=apt');
    await filterBox(page).fill('ecosystem:dnf host:web-*');
    await poll(() => new URL(page.url()).searchParams.get('host')).toBe('web-*');
    expect(await page.getByLabel('Ecosystem', { exact: true }).inputValue()).toBe('dnf');
    await filterBox(page).fill('colour:red');
    await page.getByText(/there is no colour/).waitFor();
    expect(new URL(page.url()).searchParams.get('host')).toBe('web-*');
    await page.reload();
    await poll(() => filterBox(page).inputValue()).toBe('ecosystem:dnf host:web-*');
  });

  test('columns that are hidden stay hidden', async () => {
    const page = await scene.openAs();
    await page.goto('/updates');
    await page.getByRole('columnheader', { name: 'Origin' }).waitFor();
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByLabel('Origin').uncheck();
    await page.getByLabel('compact rows').check();
    await page.getByRole('columnheader', { name: 'Origin' }).waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('columnheader', { name: 'Versions' }).waitFor();
    expect(await page.getByRole('columnheader', { name: 'Origin' }).count()).toBe(0);
    expect(await page.locator('html').getAttribute('data-density')).toBe('compact');
  });

  test('bulk approval shows the result of each update, and offers no override (A6)', async () => {
    const { hostname, idOf } = await scene.hostWith(['bad', 'good', 'late'], ['late']);
    const page = await scene.openAs();
    await page.goto(`/updates?state=pending&host=${hostname}`);
    await poll(() => rows(page).count()).toBe(3);
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('Shift+X');
    await page.getByText('3 updates selected').waitFor();
    await page.keyboard.press('a');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Approve 3 updates' }).click();
    await dialog.getByText('1 approved, 1 waiting for a plan, 1 blocked, 0 skipped').waitFor();
    await dialog.getByText('A package has a known vulnerability').click();
    await dialog.getByText(FINDING).first().waitFor();
    expect(await dialog.getByRole('button', { name: /override/i }).count()).toBe(0);
    expect(await scene.stateOf(idOf('good'))).toBe('approved');
    expect(await scene.stateOf(idOf('late'))).toBe('awaiting_plan');
    expect(await scene.stateOf(idOf('bad'))).toBe('pending');
    await dialog.getByRole('link', { name: 'Open bad to decide' }).click();
    await page.getByRole('heading', { name: `bad on ${hostname}` }).waitFor();
  });

  test('what is clear on a host is approved from its page, as one transaction that is shown first', async () => {
    const { agent, hostname, idOf } = await scene.hostWith(['alpha', 'bad', 'beta']);
    const ids = [idOf('alpha'), idOf('beta')];
    const actions = [
      ...['alpha', 'beta'].map((name) => actionOf(name)),
      actionOf('gamma', { action: 'install', from_version: undefined }),
      { action: 'remove', name: 'obsolete', arch: 'amd64', from_version: '1.0.0' },
    ];
    const plan = { resolved_at: new Date().toISOString(), actions };
    expect((await agent.call('PUT', '/plans', { sets: [ids], plan })).status).toBe(200);
    const page = await scene.openAs();
    await page.goto(`/hosts/${agent.agentId}`);
    await page.getByRole('button', { name: 'Approve all that is clear' }).click();
    const dialog = page.getByRole('dialog', { name: 'Approve all that is clear' });
    await dialog.getByText('2 updates on 1 host: 1 transaction').waitFor();
    await dialog.getByText('Removes 1: obsolete').waitFor();
    await dialog.getByText('New packages 1: gamma').waitFor();
    await dialog.getByText('Left out: 1 update').click();
    await dialog.getByText(`bad on ${hostname}: A package has a known vulnerability`).waitFor();
    await inspect(page, 'approve-host');
    await dialog.getByRole('button', { name: 'Approve 2 updates' }).click();
    await page.getByText('2 approved, 0 waiting for a plan, 0 blocked, 0 skipped').waitFor();
    expect(await Promise.all(['alpha', 'beta', 'bad'].map((name) => scene.stateOf(idOf(name))))).toEqual([
      ...['approved', 'approved', 'pending'],
    ]);
  });

  test('all matching updates are approved by filter and count', async () => {
    const names = Array.from({ length: 55 }, (_, i) => `many-${i}`);
    const { hostname } = await scene.hostWith(names, names);
    const page = await scene.openAs();
    await page.goto(`/updates?host=${hostname}`);
    await page.getByLabel('Select all on this page').check();
    await page.getByRole('button', { name: 'Select all 55 matching' }).click();
    await page.getByText('55 updates selected').waitFor();
    await page.keyboard.press('Escape');
    await poll(() => page.getByText('55 updates selected').count()).toBe(0);
    await page.getByLabel('Select all on this page').check();
    await page.getByRole('button', { name: 'Select all 55 matching' }).click();
    await page.getByRole('button', { name: /^Approve/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Approve 55 updates' }).click();
    await dialog.getByText('0 approved, 55 waiting for a plan, 0 blocked, 0 skipped').waitFor();
  });

  test('a bulk approval shows its progress, and its result even after the dialog was closed', async () => {
    const { hostname } = await scene.hostWith(['slow'], ['slow']);
    const page = await scene.openAs();
    const held = Promise.withResolvers<void>();
    const started_at = new Date().toISOString();
    await page.route('**/api/v1/bulk/*', (route) =>
      route.fulfill({
        json: {
          ...{ progress_id: route.request().url().split('/').at(-1), state: 'running', done: 3, total: 9 },
          ...{ approved: 2, blocked: 1, waiting: 0, skipped: 0, started_at, updated_at: started_at },
        },
      }),
    );
    await page.route('**/api/v1/updates/approve', async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.goto(`/updates?host=${hostname}`);
    await page.getByLabel(`Select slow on ${hostname}`).check();
    await page.getByRole('button', { name: /^Approve/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Approve 1 update' }).click();
    await dialog.getByText('3 of 9 updates judged: 2 approved').waitFor();
    await dialog.getByRole('button', { name: 'Leave it running' }).click();
    held.resolve();
    await page.getByText('The bulk approval has ended: 0 approved, 1 waiting for a plan').waitFor();
  });

  test('a package links to its updates and keeps the other filters', async () => {
    const page = await scene.openAs();
    await page.goto('/packages?ecosystem=dnf&state=pending&q=open');
    await page.getByRole('link', { name: 'openssl', exact: true }).click();
    await page.getByRole('heading', { name: 'Updates', exact: true }).waitFor();
    const { searchParams } = new URL(page.url());
    expect(Object.fromEntries(searchParams)).toEqual({ ecosystem: 'dnf', state: 'pending', name: 'openssl' });
    await poll(() => rows(page).count()).toBeGreaterThan(0);
  });

  test('updates are shown one by one or by package under one filter, and what fixes the worst is first', async () => {
    const { hostname } = await scene.hostWith(['plain', 'spare']);
    const page = await scene.openAs();
    await page.goto(`/updates?state=pending&host=${hostname}`);
    await poll(() => rows(page).count()).toBe(2);
    await page.getByRole('link', { name: 'By package' }).click();
    await page.getByRole('heading', { name: 'Packages', exact: true }).waitFor();
    await poll(() => rows(page).count()).toBe(2);
    const fixes = page.getByRole('columnheader', { name: 'Fixes', exact: true });
    await poll(() => fixes.getAttribute('aria-sort')).toBe('ascending');
    await inspect(page, 'updates-by-package');
    await page.getByRole('link', { name: 'Each update' }).click();
    await page.getByRole('heading', { name: 'Updates', exact: true }).waitFor();
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
      state: 'pending',
      host: hostname,
    });
  });

  test('the safe updates of one group are approved with four clicks', async () => {
    const { agent, idOf } = await scene.hostWith(['alpha', 'bad', 'beta']);
    const { operator } = scene.stage;
    const plan = {
      resolved_at: new Date().toISOString(),
      actions: ['alpha', 'beta'].map((name) => actionOf(name)),
    };
    const sets = [[idOf('alpha'), idOf('beta')]];
    expect((await agent.call('PUT', '/plans', { sets, plan })).status).toBe(200);
    await operator.moveTo(agent.agentId, 'shop');
    const safe = { state: 'pending', verdict: 'clear', group: 'shop' };
    // Badges follow within half a minute.
    await expect.poll(async () => (await operator.updates(safe)).length, { timeout: 60_000 }).toBe(2);
    const page = await scene.openAs();
    await page.goto('/');
    await page.getByRole('link', { name: /^Updates/ }).click();
    await page.getByRole('heading', { name: 'Updates', exact: true }).waitFor();
    await poll(() => filterBox(page).isEnabled()).toBe(true);
    await filterBox(page).fill('state:pending verdict:clear group:shop');
    await poll(() => rows(page).count()).toBe(2);
    await page.getByLabel('Select all on this page').click();
    await page.getByRole('button', { name: /^Approve/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Approve 2 updates' }).click();
    await page.getByText('2 approved, 0 waiting for a plan, 0 blocked, 0 skipped').waitFor();
    expect(await Promise.all(['alpha', 'beta', 'bad'].map((name) => scene.stateOf(idOf(name))))).toEqual([
      ...['approved', 'approved', 'pending'],
    ]);
  });

  test('a package name is text, whatever the agent sends', async () => {
    const name = '<img src=x onerror=alert(1)>';
    const { hostname } = await scene.hostWith([name]);
    const page = await scene.openAs();
    await page.goto(`/updates?host=${hostname}`);
    await page.getByRole('link', { name }).click();
    await page.getByRole('heading', { name: `${name} on ${hostname}` }).waitFor();
    expect(await page.locator('img[src=x]').count()).toBe(0);
  });

  test('the list is accessible in both themes', async () => {
    const page = await scene.openAs();
    // A few rows are enough: axe-core checks every cell.
    await page.goto('/updates?state=pending&host=web-0000*&ecosystem=dnf');
    await poll(() => rows(page).count()).toBeGreaterThan(0);
    await poll(() => filterBox(page).inputValue()).toContain('state:pending');
    await inspect(page, 'updates');
  });
});
