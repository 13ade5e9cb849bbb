import axe from 'axe-core';
import type { Page } from 'playwright-core';

const LEVELS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** What the colours of a theme decide; the rest is the same in both. */
export const OF_COLOURS = ['color-contrast', 'link-in-text-block'];

/** The findings of axe-core on the current page, one line for each element; `rules`: of these alone. */
export async function accessibilityFaults(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe.source);
  const options = { runOnly: rules ?? LEVELS, resultTypes: ['violations'], preload: false };
  const found: unknown = await page.evaluate(
    `axe.run(document, ${JSON.stringify(options)}).then(
      ({ violations }) => violations.flatMap(({ id, help, nodes }) =>
        nodes.map(({ target, failureSummary }) => id + ': ' + help + ' at ' + target.join(' ') + ' ' + failureSummary)))`,
  );
  if (!Array.isArray(found)) throw new Error('axe-core answered nothing');
  return found.map(String);
}
