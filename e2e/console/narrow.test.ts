import { PolicyDetail } from '@tidegate/protocol/policies-api';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { STANDING } from '../../apps/server/src/testing/standing.ts';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';
import { addHost, offerUpdates } from '../harness/offer-updates.ts';
import { expectAnswer, type Operator } from '../harness/operator.ts';

const DAY_MS = 86_400_000;
/** What a theme changes is the same at every width, and the stories of each page look at both. */
const THEMES = process.env.TIDEGATE_LONG === '1' ? (['light', 'dark'] as const) : (['light'] as const);
/** A phone, and 1,280 pixels at 400 % (WCAG 2.2, 1.4.10). */
const PHONE = { width: 360, height: 740 };
const ENLARGED = { width: 320, height: 640 };
/** The widest window without a sidebar. */
const WIDEST = { width: 767, height: 900 };

/** Pages by path, with the heading to wait for. */
const PAGES: readonly (readonly [path: string, heading: string | RegExp])[] = [
  ['/', 'Overview'],
  ['/updates', 'Updates'],
  ['/updates/:update', /on web-/],
  ['/updates/:update/record', /^Record: /],
  ['/packages', 'Packages'],
  ['/vulnerabilities', 'Vulnerabilities'],
  ['/unfixed', 'Vulnerabilities without a fix'],
  ['/hosts', 'Hosts'],
  ['/hosts/:host', /^web-/],
  ['/hosts/:host/inventory', /^Packages of web-/],
  ['/hosts/:host/history', /^History of web-/],
  ['/commands', 'Commands'],
  ['/commands/:command', /^scan on web-/],
  ['/events', 'Events'],
  ['/events/:event', 'Event'],
  ['/calendar', 'Calendar'],
  ['/calendar?view=month', 'Calendar'],
  ['/calendar?view=week', 'Calendar'],
  ['/policies', 'Policies'],
  ['/rollouts', 'Rollouts'],
  ['/reboots', 'Reboots'],
  ['/blackouts', 'Blackouts'],
  ['/holds', 'Holds'],
  ['/policies/:policy', 'Patch night'],
  ['/exceptions', 'Age exceptions'],
  ['/statements', 'Vulnerability statements'],
  ['/origins', 'Third-party origins'],
  ['/divergences', 'Divergences'],
  ['/enrolment', 'Add hosts'],
  ['/signing-keys', 'Signing keys'],
  ['/rate-limits', 'Rate limits'],
  ['/notifications', 'Notifications'],
  ['/notifications/rules', 'Notifications'],
  ['/notifications/deliveries', 'Notifications'],
  ['/operators', 'Operators'],
  ['/account', 'Your account'],
  ['/welcome', 'Welcome to Tidegate'],
  ['/settings', 'Settings'],
];

/** Says whether the focus of the open dialog is where typing starts, and not on its close button. */
const FOCUS = `(({ activeElement }) => {
  const body = document.querySelector('dialog[open] [data-body]');
  const fields = [...body.querySelectorAll('input:not([type=hidden]), select, textarea')];
  const first = fields.find(({ disabled, offsetParent }) => !disabled && offsetParent) ?? body.querySelector('a, button, summary') ?? body;
  return activeElement === first ? 'first field, or first control without a field, or the text' : activeElement?.outerHTML;
})(document)`;

type Press = readonly [role: 'button' | 'menuitem', name: string];

/** Dialogs by page, title and the controls that open them. */
const DIALOGS: readonly (readonly [path: string, title: string, press: readonly Press[]])[] = [
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

describeConsole('the console in a narrow window', { hosts: 4 }, (scene) => {
  async function openNarrow(): Promise<Page> {
    const page = await scene.openAs();
    await page.setViewportSize(PHONE);
    return page;
  }

  let policy: string | undefined;

  async function pathOf(path: string): Promise<string> {
    const { operator } = scene.stage;
    const [update] = await operator.updates({ host: 'web-00000*' });
    const host = update?.agent_id ?? '';
    if (path.includes(':command')) await operator.call('POST', `/api/v1/agents/${host}/scan`, {});
    const [command] = await operator.commands();
    const [event] = await operator.events();
    if (path.includes(':policy')) policy ??= await publishPolicy(operator);
    return path
      .replace(':policy', policy ?? '')
      .replace(':update', update?.id ?? '')
      .replace(':host', host)
      .replace(':event', event?.id ?? '')
      .replace(':command', command?.id ?? '');
  }

  test.each(PAGES)(
    '%s: nothing overflows the window, and all of it is readable and large enough to hit',
    async (path, heading) => {
      const page = await openNarrow();
      await page.goto(await pathOf(path));
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      if (path === '/') await page.getByRole('heading', { name: 'To do' }).waitFor();
      await expect
        .poll(() => page.getByText('Loading', { exact: true }).count(), { timeout: 30_000 })
        .toBe(0);
      for (const size of [WIDEST, PHONE, ENLARGED]) {
        await resize(page, size);
        expect(await overflowing(page), `at ${size.width}`).toEqual([]);
      }
      await resize(page, PHONE);
      await inspect(page, `narrow${path.replaceAll(/[/:?=]+/g, '-')}`, THEMES);
      expect(await smallTargets(page)).toEqual([]);
    },
  );

  test('the login page fits', async () => {
    const page = await scene.open();
    await page.setViewportSize(ENLARGED);
    await page.goto('/login');
    await page.getByRole('heading', { name: 'Log in to Tidegate' }).waitFor();
    expect(await overflowing(page)).toEqual([]);
    await inspect(page, 'narrow-login', THEMES);
  });

  test('the pages are behind a button: a link closes the menu, and Escape returns the focus', async () => {
    const page = await openNarrow();
    await page.goto('/hosts');
    await page.getByRole('link', { name: /^web-/ }).first().waitFor();
    const pages = page.getByRole('navigation', { name: 'Pages', exact: true });
    expect(await pages.count()).toBe(0);
    const button = page.getByRole('button', { name: 'Menu', exact: true });
    await button.click();
    const menu = page.getByRole('dialog', { name: 'Menu' });
    await menu.getByRole('link', { name: 'Hosts', exact: true }).waitFor();
    expect(await menu.locator('[aria-current=page]').innerText()).toBe('Hosts');
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
    const page = await openNarrow();
    await page.goto(await pathOf(path));
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
    await inspect(page, `narrow-dialog-${title.replaceAll(/\W+/g, '-')}`, THEMES);
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
        .first()
        .waitFor();
      expect(await overflowing(page), path).toEqual([]);
    }
  });

  test('the bar of a selection stays within the window', async () => {
    const page = await openNarrow();
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

  test('a wide table scrolls in its place', async () => {
    const page = await openNarrow();
    await page.goto('/hosts');
    const last = page.getByRole('columnheader', { name: 'Last seen' });
    await last.waitFor();
    const end = async () => {
      const box = await last.boundingBox();
      return Math.floor((box?.x ?? 0) + (box?.width ?? 0));
    };
    expect(await end()).toBeGreaterThan(PHONE.width);
    await page.getByRole('button', { name: 'Last seen' }).focus();
    await expect.poll(end).toBeLessThanOrEqual(PHONE.width);
    expect(await overflowing(page)).toEqual([]);
  });
});

/** Resizes the window and waits until the page has the new size. */
async function resize(page: Page, { width, height }: { width: number; height: number }): Promise<void> {
  await page.setViewportSize({ width, height });
  await expect.poll(() => page.evaluate('innerWidth + " " + innerHeight')).toBe(`${width} ${height}`);
}

/** The elements that make the document wider than the window, as selectors; content in a scroll area does not. */
async function overflowing(page: Page): Promise<string[]> {
  const found: unknown = await page.evaluate(`(() => {
    const root = document.documentElement;
    if (root.scrollWidth <= root.clientWidth) return [];
    const own = (element) => {
      for (let up = element.parentElement; up; up = up.parentElement)
        if (['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(up).overflowX)) return true;
      return false;
    };
    return ['scrolls by ' + (root.scrollWidth - root.clientWidth)].concat([...document.querySelectorAll('body *')]
      .filter((element) => element.getBoundingClientRect().right > root.clientWidth + 1 && !own(element))
      .slice(0, 8).map((element) => element.tagName + '.' + element.className + ' ' + element.textContent.slice(0, 40)));
  })()`);
  return Array.isArray(found) ? found.map(String) : ['no answer'];
}

/** The targets that axe-core finds too small (WCAG 2.2, 2.5.8: 24 by 24 pixels). */
async function smallTargets(page: Page): Promise<string[]> {
  const found: unknown =
    await page.evaluate(`axe.run(document, { runOnly: ['target-size'] }).then(({ violations }) =>
    violations.flatMap(({ nodes }) => nodes.map(({ target, failureSummary }) => target.join(' ') + ' ' + failureSummary)))`);
  return Array.isArray(found) ? found.map(String) : ['no answer'];
}

/** With a window, so that the page has a table of times; it approves nothing during a story. */
async function publishPolicy(operator: Operator): Promise<string> {
  const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString();
  const windows = [
    {
      ...{ rrule: 'FREQ=DAILY', starts_on: inDays(2).slice(0, 10), start: '02:30' },
      ...{ zone: 'America/Argentina/Buenos_Aires', duration_minutes: 60 },
    },
  ];
  const request = { ...STANDING, name: 'Patch night', windows, ends_at: inDays(30) };
  const answer = await operator.call('POST', '/api/v1/policies', request);
  return expectAnswer(answer, 201, PolicyDetail).id;
}
