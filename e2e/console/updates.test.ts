import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { boxOf, inspect } from '../harness/browser.ts';
import { aptAction } from '../harness/offer-updates.ts';
import { describeUpdates, FINDING } from '../harness/update-scene.ts';

const poll = <T>(look: () => T) => expect.poll(look);
const rows = (page: Page) => page.locator('main tbody tr');
/** The script that reads and writes filters as text. */
const FILTER_LANGUAGE = /filter-text-(?!box)[\w-]+\.js$/;
const filterBox = (page: Page) => page.getByRole('searchbox', { name: 'Filter' });

describeUpdates('updates in the console', (scene) => {
  test('an update is found, opened and approved by keyboard alone', async () => {
    const { hostname, idOf } = await scene.hostWith(['one', 'two']);
    const page = await scene.openAs();
    await page.goto('/');
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('u');
    await page.getByRole('heading', { name: 'Updates', exact: true }).waitFor();
    await poll(() => filterBox(page).inputValue()).toBe('state:pending');
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

  test('Enter in the filter leads to the rows, also where they are still to come', async () => {
    const { hostname } = await scene.hostWith(['one', 'two']);
    const page = await scene.openAs();
    await page.goto('/updates');
    await poll(() => filterBox(page).inputValue()).toBe('state:pending');
    await filterBox(page).fill('no-such-package');
    await page.getByRole('heading', { name: 'No updates match the filter' }).waitFor();
    const answer = Promise.withResolvers<void>();
    await page.route('**/api/v1/updates?**', async (route) => {
      await answer.promise;
      await route.continue();
    });
    await filterBox(page).fill(`two state:pending host:${hostname}`);
    await filterBox(page).press('Enter');
    answer.resolve();
    await poll(() => rows(page).count()).toBe(1);
    await poll(() => page.evaluate('document.activeElement?.tagName')).toBe('TR');
  });

  test('what is typed before the filter is loaded is kept, and added to the filter of the page', async () => {
    const { hostname } = await scene.hostWith(['one', 'two']);
    const page = await scene.openAs();
    const script = Promise.withResolvers<void>();
    await page.route(FILTER_LANGUAGE, async (route) => {
      await script.promise;
      await route.continue();
    });
    await page.goto(`/updates?state=approved&host=${hostname}`);
    await page.getByRole('heading', { name: 'No updates match the filter' }).waitFor();
    await page.keyboard.press('/');
    await poll(() => filterBox(page).and(page.locator(':focus')).count()).toBe(1);
    await page.keyboard.type('two state:pend');
    await page.getByLabel('Package manager', { exact: true }).selectOption('apt');
    await poll(() => new URL(page.url()).searchParams.get('ecosystem')).toBe('apt');
    expect(await filterBox(page).inputValue()).toBe('two state:pend');
    await filterBox(page).focus();
    await page.keyboard.press('End');
    await page.keyboard.type('ing');
    script.resolve();
    await poll(() => filterBox(page).inputValue()).toBe(`ecosystem:apt host:${hostname} two state:pending`);
    await poll(() => new URL(page.url()).search).toBe(`?state=pending&host=${hostname}&ecosystem=apt&q=two`);
    await poll(() => rows(page).count()).toBe(1);
    await page.keyboard.type(' group:none');
    await poll(() => rows(page).count()).toBe(0);
  });

  test('a filter that does not load says so, and keeps what is typed', async () => {
    const page = await scene.openAs();
    await page.route(FILTER_LANGUAGE, (route) => route.abort());
    await page.goto('/updates');
    await page.getByText('the filter did not load; reload the page.').waitFor();
    await filterBox(page).fill('two');
    expect(await filterBox(page).inputValue()).toBe('two');
    await page.getByText('the filter did not load; reload the page.').waitFor();
  });

  test('the first visit shows pending updates; text, chips and selects are one filter', async () => {
    const page = await scene.openAs();
    await page.goto('/updates');
    const chips = page.getByRole('list', { name: 'Active filters' });
    await chips.getByRole('button', { name: /state: pending/ }).waitFor();
    await poll(() => filterBox(page).inputValue()).toBe('state:pending');
    await page.getByLabel('Package manager', { exact: true }).selectOption('apt');
    await poll(() => filterBox(page).inputValue()).toBe('state:pending ecosystem:apt');
    await chips.getByRole('button', { name: /state: pending/ }).click();
    await poll(() => new URL(page.url()).search).toBe('?ecosystem=apt');
    await filterBox(page).fill('ecosystem:dnf host:web-*');
    await poll(() => new URL(page.url()).searchParams.get('host')).toBe('web-*');
    await expect.poll(() => page.getByLabel('Package manager', { exact: true }).inputValue()).toBe('dnf');
    await filterBox(page).fill('colour:red');
    await page.getByText(/there is no colour/).waitFor();
    expect(new URL(page.url()).searchParams.get('host')).toBe('web-*');
    await page.reload();
    await poll(() => filterBox(page).inputValue()).toBe('ecosystem:dnf host:web-*');
  });

  test('the order of a list is in sight, also by a column that is hidden otherwise', async () => {
    const page = await scene.openAs();
    const header = (name: string) => page.getByRole('columnheader', { name, exact: true });
    await page.goto('/updates?state=pending');
    await poll(() => header('Fixes').getAttribute('aria-sort')).toBe('descending');
    expect(await header('Changed').count()).toBe(0);
    await page.goto('/updates?state=pending&sort=-updated_at');
    await poll(() => header('Changed').getAttribute('aria-sort')).toBe('descending');
    expect(await header('Fixes').getAttribute('aria-sort')).toBe('none');
    await page.setViewportSize({ width: 390, height: 800 });
    const order = page.getByRole('combobox', { name: 'Order' });
    const chosen = () =>
      page.evaluate(`document.querySelector('select[aria-label="Order"]')?.selectedOptions[0]?.text`);
    await poll(chosen).toBe('Changed');
    await order.selectOption('Urgency');
    await poll(() => new URL(page.url()).searchParams.get('sort')).toBe('urgency');
    await page.getByRole('button', { name: 'Descending; sort ascending' }).click();
    await poll(() => new URL(page.url()).searchParams.get('sort')).toBe('-urgency');
    await rows(page).first().getByRole('link').first().click();
    await page.getByRole('heading', { name: / on / }).waitFor();
    await page.goBack();
    await poll(() => new URL(page.url()).searchParams.get('sort')).toBe('-urgency');
    await poll(chosen).toBe('Urgency');
  });

  test('columns that are hidden stay hidden', async () => {
    const page = await scene.openAs();
    await page.goto('/updates');
    await page.getByRole('columnheader', { name: 'Host' }).waitFor();
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('checkbox', { name: 'Host' }).uncheck();
    await page.getByLabel('compact rows').check();
    await page.getByRole('columnheader', { name: 'Host' }).waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('columnheader', { name: 'Versions' }).waitFor();
    expect(await page.getByRole('columnheader', { name: 'Host' }).count()).toBe(0);
    await expect.poll(() => page.locator('html').getAttribute('data-density')).toBe('compact');
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

  test('a bulk approval waits for what it would do, and its buttons stand still when that comes', async () => {
    const { hostname, idOf } = await scene.hostWith(['bad', 'good', 'late'], ['late']);
    const page = await scene.openAs();
    const looks: PromiseWithResolvers<void>[] = [];
    await page.route('**/api/v1/updates/preview', async (route) => {
      const look = Promise.withResolvers<void>();
      looks.push(look);
      await look.promise.then(
        () => route.continue(),
        () =>
          route.fulfill({
            ...{ status: 503, contentType: 'application/problem+json' },
            json: { code: 'unavailable', detail: 'It is busy.' },
          }),
      );
    });
    await page.goto(`/updates?state=pending&host=${hostname}`);
    await poll(() => rows(page).count()).toBe(3);
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
    await page.keyboard.press('a');
    const dialog = page.getByRole('dialog');
    const approve = dialog.getByRole('button', { name: 'Approve 3 updates' });
    const place = await boxOf(approve);
    await approve.focus();
    await page.keyboard.press('Enter');
    await page.mouse.move(place.x + place.width / 2, place.y + place.height / 2);
    await page.mouse.down();
    await page.mouse.up();
    await poll(() => looks.length).toBe(1);
    looks[0]?.reject(new Error('no answer'));
    await dialog.getByText('What this would change is not known: It is busy.').waitFor();
    expect(await boxOf(approve), 'after a failure').toEqual(place);
    expect(await approve.isEnabled(), 'after a failure').toBe(true);
    expect(await scene.stateOf(idOf('good')), 'before it is known what it would do').toBe('pending');
    await dialog.getByRole('button', { name: 'Look again' }).click();
    await poll(() => looks.length).toBe(2);
    await poll(() => approve.isEnabled()).toBe(false);
    looks[1]?.resolve();
    await dialog.getByText('2 updates on 1 host').waitFor();
    await inspect(page, 'bulk-preview');
    expect(await boxOf(approve), 'after an answer').toEqual(place);
    await page.mouse.move(place.x + place.width / 2, place.y + place.height / 2);
    await page.mouse.down();
    await page.mouse.up();
    await dialog.getByText('1 approved, 1 waiting for a plan, 1 blocked, 0 skipped').waitFor();
  });

  test('what is clear on a host is approved from its page, as one transaction that is shown first', async () => {
    const { agent, hostname, idOf } = await scene.hostWith(['alpha', 'bad', 'beta']);
    const ids = [idOf('alpha'), idOf('beta')];
    const actions = [
      ...['alpha', 'beta'].map((name) => aptAction(name)),
      aptAction('gamma', { action: 'install', from_version: undefined }),
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
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
    await page.getByRole('button', { name: 'Select all 55 matching' }).click();
    await page.getByText('55 updates selected').waitFor();
    await page.keyboard.press('Escape');
    await poll(() => page.getByText('55 updates selected').count()).toBe(0);
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
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
    await poll(() => fixes.getAttribute('aria-sort')).toBe('descending');
    await inspect(page, 'updates-by-package');
    await page.getByRole('link', { name: 'Each update' }).click();
    await page.getByRole('heading', { name: 'Updates', exact: true }).waitFor();
    const filter = () => Object.fromEntries(new URL(page.url()).searchParams);
    expect(filter()).toEqual({ state: 'pending', host: hostname });
    await page.getByRole('link', { name: 'By host' }).click();
    await page.getByRole('heading', { name: 'Updates by host', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Each update' }).click();
    await page.getByRole('heading', { name: 'Updates', exact: true }).waitFor();
    expect(filter()).toEqual({ state: 'pending', host: hostname });
    await page.goto(`/updates?state=rejected&host=${hostname}`);
    await page.getByRole('heading', { name: 'No updates match the filter' }).waitFor();
    await page.getByRole('link', { name: 'By host' }).click();
    await poll(() => rows(page).count()).toBe(1);
    await page.getByRole('link', { name: 'By package' }).click();
    await page.getByRole('heading', { name: 'Packages', exact: true }).waitFor();
    expect(filter(), 'the state comes back').toEqual({ state: 'rejected', host: hostname });
  });

  test('the safe updates of one group are approved with four clicks', async () => {
    const { agent, idOf } = await scene.hostWith(['alpha', 'bad', 'beta']);
    const { operator } = scene.stage;
    const plan = {
      resolved_at: new Date().toISOString(),
      actions: ['alpha', 'beta'].map((name) => aptAction(name)),
    };
    const sets = [[idOf('alpha'), idOf('beta')]];
    expect((await agent.call('PUT', '/plans', { sets, plan })).status).toBe(200);
    await operator.moveTo(agent.agentId, 'shop');
    const safe = { state: 'pending', verdict: 'clear', group: 'shop' };
    await expect.poll(async () => (await operator.updates(safe)).length).toBe(2);
    const page = await scene.openAs();
    await page.goto('/');
    await page.getByRole('link', { name: /^Updates/ }).click();
    await page.getByRole('heading', { name: 'Updates', exact: true }).waitFor();
    await poll(() => filterBox(page).inputValue()).toBe('state:pending');
    await filterBox(page).fill('state:pending verdict:clear group:shop');
    await poll(() => rows(page).count()).toBe(2);
    await page.getByRole('checkbox', { name: 'Select all on this page' }).click();
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
