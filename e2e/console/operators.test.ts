import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';
import { totpAt } from '../harness/totp.ts';

const PASSWORD = 'correct horse battery';

describeConsole('operators in the console', { hosts: 2 }, (scene) => {
  test('an operator is added with groups, disabled and enabled, and deleted by typing the name', async () => {
    const page = await scene.openAs();
    await page.goto('/operators');
    await page.getByRole('button', { name: 'Add an operator' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add an operator' });
    await inspect(page, 'operators-add');
    await dialog.getByLabel('Username').fill('victor');
    await dialog.getByLabel('Initial password').fill(PASSWORD);
    await dialog.getByLabel('Role').selectOption('approver');
    await dialog.getByLabel('Host groups').fill('web, db');
    await dialog.getByRole('button', { name: 'Save' }).click();
    const row = page.getByRole('row', { name: /victor/ });
    await row.getByText('db, web').waitFor();
    await inspect(page, 'operators');
    const open = async (item: string) => {
      await row.getByRole('button', { name: 'Actions for victor' }).click();
      await page.getByRole('menuitem', { name: item, exact: true }).click();
    };
    await open('Disable');
    await row.getByText('disabled').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await row.getByText('active').waitFor();
    await open('Delete');
    const confirm = page.getByRole('dialog', { name: 'Delete victor?' });
    await expect.poll(() => confirm.getByRole('button', { name: 'Delete' }).isDisabled()).toBe(true);
    await confirm.getByLabel('Type victor to continue').fill('victor');
    await confirm.getByRole('button', { name: 'Delete' }).click();
    await row.waitFor({ state: 'detached' });
  });

  test('an API token is shown once, works within its role, and is refused once it is revoked', async () => {
    const page = await scene.openAs();
    await page.goto('/operators');
    await page.getByRole('button', { name: 'Create a token' }).click();
    await page.getByLabel('Label').fill('nightly report');
    await page.getByRole('button', { name: 'Create the token' }).click();
    const shown = page.getByRole('dialog', { name: 'The token nightly report' });
    const title = await shown.getByTitle('Copy the token').getAttribute('title');
    const token = title?.split(': ')[1] ?? '';
    expect(token).toMatch(/^tg_[\w-]{43}$/);
    await shown.getByRole('button', { name: 'I have saved it' }).click();
    const statusOf = async (path: string) =>
      (await fetch(scene.stage.server.url + path, { headers: { authorization: `Bearer ${token}` } })).status;
    expect([await statusOf('/api/v1/agents'), await statusOf('/api/v1/admin/operators')]).toEqual([200, 403]);
    await page.getByRole('button', { name: 'Revoke nightly report' }).click();
    await page.getByLabel('Type nightly report to continue').fill('nightly report');
    await page.getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByText('No API tokens').waitFor();
    expect(await statusOf('/api/v1/agents')).toBe(401);
  });

  test('a missing second factor is marked by a word and a shape, and a present one by its name', async () => {
    const page = await scene.openAs();
    await scene.stage.addOperator({ username: 'wanda', password: PASSWORD, role: 'approver' });
    await page.goto('/operators');
    const row = page.getByRole('row', { name: /wanda/ });
    const badge = row.getByText('no second factor');
    await badge.waitFor();
    await expect.poll(() => badge.locator('svg').count()).toBe(1);
    await inspect(page, 'operators-second-factor');
    const wanda = await scene.openAs({ username: 'wanda', password: PASSWORD });
    const csrf = (await wanda.context().cookies()).find(({ name }) => name.endsWith('tidegate_csrf'));
    const post = async (path: string, data?: object) => {
      const headers = { 'x-csrf-token': csrf?.value ?? '' };
      return (await wanda.context().request.post(`/api/v1/auth/${path}`, { data, headers })).json();
    };
    const { secret } = await post('totp');
    await post('totp/confirm', { code: totpAt(String(secret), Date.now()) });
    await page.reload();
    await row.getByText('app', { exact: true }).waitFor();
    expect(await badge.count()).toBe(0);
  });

  test('a viewer is not offered the page, and is refused when opening its address', async () => {
    const viewer = { username: 'vera', password: PASSWORD, role: 'viewer' } as const;
    await scene.stage.addOperator(viewer);
    const page = await scene.openAs(viewer);
    await page.goto('/settings');
    await page.getByRole('heading', { name: 'Settings', exact: true }).waitFor();
    expect(await page.getByRole('link', { name: 'Operators' }).count()).toBe(0);
    await page.goto('/operators');
    await page
      .getByText(/This requires the role admin/)
      .first()
      .waitFor();
  });

  test('who is disabled is not shown as in, and nobody ends or disables themselves by one click', async () => {
    const page = await scene.openAs();
    for (const username of ['ines', 'agnes'] as const) {
      const role = username === 'ines' ? 'approver' : 'admin';
      await scene.stage.addOperator({ username, password: PASSWORD, role });
    }
    const ines = await scene.openAs({ username: 'ines', password: PASSWORD });
    const agnes = { username: 'agnes', password: PASSWORD };
    const [own, elsewhere] = [await scene.openAs(agnes), await scene.openAs(agnes)];
    await page.close();
    await own.goto('/operators');
    const who = (name: RegExp) => own.getByRole('table', { name: 'Who is in' }).getByRole('row', { name });
    const choose = async (name: string, item: string) => {
      await own.getByRole('button', { name: `Actions for ${name}` }).click();
      await own.getByRole('menuitem', { name: item, exact: true }).click();
    };
    await who(/ines/).waitFor();
    await choose('ines', 'Disable');
    await who(/ines/).waitFor({ state: 'detached' });
    const isIn = async (one: typeof own) =>
      (await one.context().request.get('/api/v1/auth/session')).status() === 200;
    expect(await isIn(ines)).toBe(false);

    await expect.poll(() => who(/agnes/).count()).toBe(2);
    await choose('agnes', 'End all other sessions');
    const ending = own.getByRole('dialog', { name: 'End your other sessions?' });
    await ending.getByRole('button', { name: 'End them' }).click();
    await own.getByText('Your other sessions have ended.').waitFor();
    await expect.poll(() => who(/agnes/).count()).toBe(1);
    expect([await isIn(own), await isIn(elsewhere)]).toEqual([true, false]);

    await choose('agnes', 'Disable');
    const disabling = own.getByRole('dialog', { name: 'Disable yourself?' });
    await inspect(own, 'operators-disable-self', ['light']);
    await own.keyboard.press('Escape');
    await disabling.waitFor({ state: 'detached' });
    expect(await isIn(own)).toBe(true);
  });

  // Ends the session of the stage too, so it comes last.
  test('an admin sees who is in, ends one session, all of one operator, and those of everybody else', async () => {
    const page = await scene.openAs();
    const ivan = { username: 'ivan', password: PASSWORD, role: 'approver' } as const;
    await scene.stage.addOperator(ivan);
    const windows = [await scene.openAs(ivan), await scene.openAs(ivan), await scene.openAs(ivan)];
    await page.goto('/operators');
    const rows = page.getByRole('table', { name: 'Who is in' }).getByRole('row', { name: /ivan/ });
    await expect.poll(() => rows.count()).toBe(3);
    const [first] = await rows.all();
    await expect.poll(() => first?.innerText()).toMatch(/Chrome \d+ on Linux[\s\S]*password/);
    for (const [name, size] of [
      ['who-is-in', { width: 1440, height: 900 }],
      ['who-is-in-phone', { width: 390, height: 844 }],
    ] as const) {
      await page.setViewportSize(size);
      await inspect(page, name);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    const end = rows.first().getByRole('button', { name: /^End the session of ivan in Chrome/ });
    await end.focus();
    await page.keyboard.press('Enter');
    await page.getByText('The session of ivan has ended.').waitFor();
    await expect.poll(() => rows.count()).toBe(2);
    await page.getByRole('button', { name: 'Actions for ivan' }).click();
    await page.getByRole('menuitem', { name: 'End all sessions' }).click();
    const ending = page.getByRole('dialog', { name: 'End all sessions of ivan?' });
    await inspect(page, 'end-sessions-of-one', ['light']);
    expect(await rows.count()).toBe(2);
    await ending.getByRole('button', { name: 'End all' }).click();
    await page.getByText('The sessions of ivan have ended.').waitFor();
    await expect.poll(() => rows.count()).toBe(0);
    const statusOf = async (one: (typeof windows)[number]) =>
      (await one.context().request.get('/api/v1/auth/session')).status();
    expect(await Promise.all(windows.map(statusOf))).toEqual([401, 401, 401]);

    const back = await scene.openAs(ivan);
    await page.getByRole('button', { name: 'End all others' }).click();
    const confirm = page.getByRole('dialog', { name: 'End all other sessions?' });
    await inspect(page, 'end-all-sessions');
    await confirm.getByRole('button', { name: 'End all others' }).click();
    await page.getByText('Every session but this one has ended.').waitFor();
    expect(await statusOf(back)).toBe(401);
    await page.getByRole('link', { name: 'What was changed' }).click();
    const changes = page.getByRole('table');
    await changes.getByText(/ended 2 sessions of ivan\.$/).waitFor();
    expect(await changes.getByText(/logged in/).count()).toBe(0);
    await inspect(page, 'what-was-changed');
  });
});
