import { PolicyDetail } from '@tidegate/protocol/policies-api';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { STANDING } from '../../apps/server/src/testing/standing.ts';
import { inspect } from './browser.ts';
import { type ConsoleScene, describeConsole } from './describe-console.ts';
import { expectAnswer, type Operator } from './operator.ts';
import { SILENT_SCROLLERS } from './silent-scrollers.ts';

const DAY_MS = 86_400_000;
/** What a theme changes is the same at every width, and the stories of each page look at both. */
export const THEMES = process.env.TIDEGATE_LONG === '1' ? (['light', 'dark'] as const) : (['light'] as const);
/** A phone, and 1,280 pixels at 400 % (WCAG 2.2, 1.4.10). */
export const PHONE = { width: 360, height: 740 };
export const ENLARGED = { width: 320, height: 640 };
/** The widest window without a sidebar. */
const WIDEST = { width: 767, height: 900 };

interface NarrowScene extends ConsoleScene {
  /** Opens a window as narrow as a phone. */
  openNarrow(): Promise<Page>;
  /** A path with the ids of this stage in place of `:update`, `:host` and the like. */
  pathOf(path: string): Promise<string>;
}

/** Stories of a narrow window, on a stage and a browser of their own. */
export function describeNarrow(title: string, stories: (scene: NarrowScene) => void): void {
  describeConsole(title, { hosts: 4 }, (scene) => {
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

    stories(Object.assign(scene, { openNarrow, pathOf }));
  });
}

/** A page by its path, with the heading to wait for. */
export type NarrowPage = readonly [path: string, heading: string | RegExp];

/** What holds for every page. */
export function testPages(pages: readonly NarrowPage[], { openNarrow, pathOf }: NarrowScene): void {
  test.each(pages)(
    '%s: nothing overflows the window, and all of it is readable and large enough to hit',
    async (path, heading) => {
      const page = await openNarrow();
      await page.goto(await pathOf(path));
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      if (path === '/') await page.getByRole('heading', { name: 'To do' }).waitFor();
      await expect.poll(() => page.getByText('Loading', { exact: true }).count()).toBe(0);
      for (const size of [WIDEST, PHONE, ENLARGED]) {
        await resize(page, size);
        expect(await overflowing(page), `at ${size.width}`).toEqual([]);
        await expect.poll(() => page.evaluate(SILENT_SCROLLERS), { message: `at ${size.width}` }).toEqual([]);
      }
      await resize(page, PHONE);
      await inspect(page, `narrow${path.replaceAll(/[/:?=]+/g, '-')}`, THEMES);
      expect(await smallTargets(page)).toEqual([]);
    },
  );
}

/** Resizes the window and waits until the page has the new size. */
export async function resize(
  page: Page,
  { width, height }: { width: number; height: number },
): Promise<void> {
  await page.setViewportSize({ width, height });
  await expect.poll(() => page.evaluate('innerWidth + " " + innerHeight')).toBe(`${width} ${height}`);
}

/** The elements that make the document wider than the window, as selectors; content in a scroll area does not. */
export async function overflowing(page: Page): Promise<string[]> {
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
export async function smallTargets(page: Page): Promise<string[]> {
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
