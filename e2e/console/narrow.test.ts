import type { Locator } from 'playwright-core';
import { expect, test } from 'vitest';
import { boxOf, inspect } from '../harness/browser.ts';
import {
  describeNarrow,
  ENLARGED,
  overflowing,
  PHONE,
  resize,
  smallTargets,
  THEMES,
} from '../harness/narrow.ts';
import { addHost, offerUpdates } from '../harness/offer-updates.ts';

/** Says whether the focus of the open dialog is where typing starts, and not on its close button. */
const FOCUS = `(({ activeElement }) => {
  const body = document.querySelector('dialog[open] [data-body]');
  const fields = [...body.querySelectorAll('input:not([type=hidden]), select, textarea')];
  const first = fields.find(({ disabled, offsetParent }) => !disabled && offsetParent) ?? body.querySelector('a, button, summary') ?? body;
  return activeElement === first ? 'first field, or first control without a field, or the text' : activeElement?.outerHTML;
})(document)`;

type Press = readonly [role: 'button' | 'menuitem', name: string];

/** Dialogs by page, title and the controls that open them. */
const DIALOGS: readonly (readonly [path: string, title: string | RegExp, press: readonly Press[]])[] = [
  ['/', 'Search or act', [['button', 'Search or act']]],
  [
    '/hosts/:host',
    'Set the group of 1 host',
    [
      ['button', 'More'],
      ['menuitem', 'Set group'],
    ],
  ],
  [
    '/hosts/:host',
    'Revoke web-00000.example.invalid',
    [
      ['button', 'More'],
      ['menuitem', 'Revoke the credentials'],
    ],
  ],
  ['/notifications', 'Add a channel', [['button', 'Add a channel']]],
  ['/operators', 'Add an operator', [['button', 'Add an operator']]],
  ['/operators', 'Create an API token', [['button', 'Create a token']]],
  ['/operators', 'Add an identity provider', [['button', 'Add identity provider']]],
  ['/signing-keys', 'Add a signing key', [['button', 'Add a key']]],
  ['/rate-limits', 'Reset all limits', [['button', 'Reset to the defaults']]],
  ['/account', 'Add an authenticator app', [['button', 'Add an app']]],
  ['/updates/:update', /^Reject /, [['button', 'Reject']]],
  ['/signing-keys', 'Hosts without key set 1', [['button', 'Which hosts are behind?']]],
  ['/blackouts', 'Plan a blackout', [['button', 'Plan a blackout']]],
  ['/holds', 'Put packages on hold', [['button', 'Put packages on hold']]],
  ['/policies', 'Publish a policy', [['button', 'Publish a policy']]],
  ['/exceptions', 'Add an age exception', [['button', 'Add an exception']]],
  ['/statements', 'State what a vulnerability means', [['button', 'Add a statement']]],
  ['/statements', 'Import statements', [['button', 'Import']]],
  ['/origins', 'Register an origin', [['button', 'Register an origin']]],
  ['/events', 'Evidence of all hosts', [['button', 'Evidence for an auditor']]],
];

describeNarrow('dialogs, menu and tables in a narrow window', (scene) => {
  test('the pages are behind a button: a link closes the menu, and Escape returns the focus', async () => {
    const page = await scene.openNarrow();
    await page.goto('/hosts');
    await page.getByRole('link', { name: /^web-/ }).first().waitFor();
    const pages = page.getByRole('navigation', { name: 'Pages', exact: true });
    expect(await pages.count()).toBe(0);
    const button = page.getByRole('button', { name: 'Menu', exact: true });
    await button.click();
    const menu = page.getByRole('dialog', { name: 'Menu' });
    await menu.getByRole('link', { name: 'Hosts', exact: true }).waitFor();
    await expect.poll(() => menu.locator('[aria-current=page]').innerText()).toBe('Hosts');
    await inspect(page, 'narrow-menu', THEMES);
    expect(await smallTargets(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await expect.poll(() => menu.count()).toBe(0);
    await expect
      .poll(() => button.evaluate('document.activeElement?.getAttribute("aria-label")'))
      .toBe('Menu');
    await button.click();
    await menu.getByRole('link', { name: 'Events' }).click();
    await page.getByRole('heading', { level: 1, name: 'Events' }).waitFor();
    expect(await menu.count()).toBe(0);
    // A wide window has them beside the page.
    await resize(page, { width: 768, height: 900 });
    await pages.waitFor();
    expect(await button.count()).toBe(0);
    expect(await overflowing(page)).toEqual([]);
  });

  test.each(DIALOGS)('%s: the dialog %s fits', async (path, title, press) => {
    const page = await scene.openNarrow();
    await page.goto(await scene.pathOf(path));
    await page.getByRole('heading', { level: 1 }).waitFor();
    for (const [role, name] of press) await page.getByRole(role, { name, exact: true }).first().click();
    const dialog = page.getByRole('dialog', { name: title });
    await dialog.waitFor();
    expect(await page.evaluate(FOCUS), 'the focus').toBe(
      'first field, or first control without a field, or the text',
    );
    for (const { width, height } of [PHONE, ENLARGED]) {
      await resize(page, { width, height });
      const fits = async () => {
        const { x, y, ...size } = (await dialog.boundingBox()) ?? { x: -1, y: -1, width: 0, height: 0 };
        return [x >= 0, y >= 0, x + size.width <= width, y + size.height <= height];
      };
      // The content takes its new size after the window.
      await expect.poll(fits).not.toContain(false);
      const wider = 'dialog.scrollWidth - dialog.clientWidth';
      expect(
        await page.evaluate(`(({ 0: dialog }) => ${wider})(document.querySelectorAll('dialog[open]'))`),
      ).toBe(0);
      expect(await overflowing(page), `at ${width}`).toEqual([]);
    }
    await inspect(page, `narrow-dialog-${String(title).replaceAll(/\W+/g, '-')}`, THEMES);
    expect(await smallTargets(page)).toEqual([]);
  });

  test('names of the maximum length wrap or are truncated, and do not widen a page', async () => {
    const { operator, server } = scene.stage;
    const agent = await addHost({ url: server.url, operator }, 'h'.repeat(110));
    const name = 'p'.repeat(214);
    const idOf = await offerUpdates(agent, { ecosystem: 'npm', names: [name] });
    const page = await scene.openAs();
    await resize(page, ENLARGED);
    for (const path of [
      `/hosts/${agent.agentId}`,
      `/hosts/${agent.agentId}/inventory`,
      `/updates/${idOf(name)}`,
      `/updates?name=${name}`,
      `/packages?name=${name}`,
      '/hosts?q=hhhh',
    ]) {
      await page.goto(path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page
        .getByText(/hhhh|pppp/)
        .filter({ visible: true })
        .first()
        .waitFor();
      expect(await overflowing(page), path).toEqual([]);
    }
  });

  test('the bar of a selection stays within the window', async () => {
    const page = await scene.openNarrow();
    await page.goto('/hosts');
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
    await page.getByText(/^\d+ hosts selected$/).waitFor();
    for (const size of [PHONE, ENLARGED]) {
      await resize(page, size);
      expect(await overflowing(page), `at ${size.width}`).toEqual([]);
    }
    await inspect(page, 'narrow-selection', THEMES);
    expect(await smallTargets(page)).toEqual([]);
  });

  test('a row is a card: the state beside the name, facts with their names, and an order in place of headers', async () => {
    const page = await scene.openNarrow();
    await page.goto('/hosts');
    const name = await boxOf(page.getByRole('link', { name: /^web-00000/ }));
    const card = page.getByRole('row').filter({ hasText: 'web-00000' });
    const state = await boxOf(card.locator('[data-part=pinned]'));
    expect(Math.abs(state.y - name.y), 'on one line').toBeLessThan(12);
    expect(state.x + state.width).toBeLessThanOrEqual(PHONE.width);
    expect(await page.getByRole('columnheader').count()).toBe(0);
    const none = card.getByText('none', { exact: true }).filter({ visible: true });
    await expect.poll(() => none.count()).toBe(0);
    await page.getByRole('combobox', { name: 'Order' }).selectOption('Last seen');
    await expect.poll(() => new URL(page.url()).searchParams.get('sort')).toBe('-last_seen_at');
    await page.getByRole('button', { name: 'Descending; sort ascending' }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get('sort')).toBe('last_seen_at');
    await page.getByText('Filters', { exact: true }).click();
    await page.getByRole('searchbox', { name: 'Filter' }).fill('web-00001');
    await page.getByText('Filters, some are set').waitFor();
    await expect.poll(() => page.getByRole('link', { name: /^web-/ }).count()).toBe(1);
  });

  test('a table that is wider than its place scrolls there and says so; the verdict stays in sight', async () => {
    const page = await scene.openNarrow();
    await resize(page, { width: 840, height: 900 });
    await page.goto('/updates');
    await page.getByText('Scroll sideways for more columns').waitFor();
    const verdict = page.getByRole('columnheader', { name: 'Verdict' });
    const last = page.getByRole('columnheader', { name: 'Brings or keeps' });
    const end = async (header: Locator) => {
      const { x, width } = await boxOf(header);
      return Math.floor(x + width);
    };
    expect(await end(verdict)).toBeLessThanOrEqual(840);
    expect(await end(last)).toBeGreaterThan(840);
    await page.getByRole('button', { name: 'Brings or keeps' }).focus();
    await expect.poll(() => end(last)).toBeLessThanOrEqual(840);
    expect((await boxOf(verdict)).x).toBeGreaterThanOrEqual(0);
    expect(await overflowing(page)).toEqual([]);
    await inspect(page, 'narrow-wide-table', THEMES);
  });
});
