import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { accessibilityFaults, OF_COLOURS } from './accessibility.ts';
import { launchChromium } from './chromium.ts';
import { OPERATOR } from './server-process.ts';

/** Screenshots of every page in both themes, kept by CI. */
const OUT = fileURLToPath(new URL('../out/console', import.meta.url));
const THEMES = ['light', 'dark'] as const;
const VIEWPORT = { width: 1440, height: 900 };
/** How long a page may take to show something on a busy machine. */
const SHOWN_MAX_MS = 60_000;
/** In the long lane each change takes so long, so that a story that does not wait for one fails. */
const WRITE_DELAY_MS = process.env.TIDEGATE_LONG === '1' ? 800 : 0;

export interface Browser extends AsyncDisposable {
  /** Opens a window without a session; closed when the test ends, which fails if the page had errors. */
  open(url: string, options?: { colorScheme?: 'light' | 'dark' }): Promise<Page>;
  /** The same with an operator logged in. */
  openAs(url: string, operator?: { username: string; password: string }): Promise<Page>;
  /** A window whose errors the caller checks. */
  openUnwatched(url: string): Promise<Page>;
}

/** Debian's Chromium without a window. `trustsAll`: also certificates of a test's own CA. */
export async function startBrowser({ trustsAll = false } = {}): Promise<Browser> {
  const browser = await launchChromium();

  async function contextOf(url: string, colorScheme: 'light' | 'dark'): Promise<BrowserContext> {
    const context = await browser.newContext({
      baseURL: url,
      viewport: VIEWPORT,
      colorScheme,
      reducedMotion: 'reduce',
      ignoreHTTPSErrors: trustsAll,
    });
    context.setDefaultTimeout(SHOWN_MAX_MS);
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    if (WRITE_DELAY_MS > 0) {
      await context.route('**/api/**', async (route) => {
        if (route.request().method() !== 'GET') await setTimeout(WRITE_DELAY_MS);
        await route.continue();
      });
    }
    return context;
  }

  async function pageOf(context: BrowserContext): Promise<Page> {
    const page = await context.newPage();
    const faults = watch(page);
    onTestFinished(async ({ task }) => {
      if (task.result?.state === 'fail') await picture(page, `failed-${task.name.replace(/\W+/g, '-')}`);
      await context.close();
      expect(faults, 'errors on the page').toEqual([]);
    });
    return page;
  }

  return {
    async open(url, { colorScheme = 'light' } = {}) {
      return pageOf(await contextOf(url, colorScheme));
    },
    async openUnwatched(url) {
      const context = await contextOf(url, 'light');
      onTestFinished(() => context.close());
      return context.newPage();
    },
    async openAs(url, { username, password } = OPERATOR) {
      const context = await contextOf(url, 'light');
      const login = await context.request.post('/api/v1/auth/login', { data: { username, password } });
      expect(login.status()).toBe(200);
      return pageOf(context);
    },
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

/**
 * Collects what must not happen on any page: uncaught errors, violations of the policy, errors on the browser console.
 * Failed requests do not count: some stories are about refusals and a stopped server.
 */
export function watch(page: Page): string[] {
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(`uncaught: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() !== 'error' || message.text().startsWith('Failed to load resource')) return;
    faults.push(message.text());
  });
  return faults;
}

/** Takes a screenshot of the page in each theme, and expects no accessibility fault in any. */
export async function inspect(
  page: Page,
  name: string,
  themes: readonly (typeof THEMES)[number][] = THEMES,
): Promise<void> {
  for (const [index, colorScheme] of themes.entries()) {
    await page.emulateMedia({ colorScheme });
    await picture(page, `${name}-${colorScheme}`);
    const rules = index === 0 ? undefined : OF_COLOURS;
    expect(await accessibilityFaults(page, rules), `${name}, ${colorScheme}`).toEqual([]);
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(OUT, { recursive: true });
  await page.screenshot({ path: join(OUT, `${name}.png`), fullPage: true });
}

/** Where an element is; fails if it is not shown. */
export async function boxOf(element: Locator) {
  const box = await element.boundingBox();
  if (!box) throw new Error('the element is not shown');
  return box;
}
