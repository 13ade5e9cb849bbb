import { join } from 'node:path';
import type { Browser, BrowserContext } from 'playwright-core';
import { ADMIN, PASSWORD } from '../demo/people.ts';
import type { GalleryPage } from './pages.ts';
import { STATES, type State, setState } from './states.ts';

const WIDTHS = [1440, 1024, 390] as const;
const THEMES = ['light', 'dark'] as const;
/** What is not `full` is taken in one theme, at the widest and the narrowest. */
const OTHER_WIDTHS = [1440, 390] as const;
/** A picture ends here. */
const HEIGHT_MAX = 4_000;
/** Contexts at a time. */
const LANES = 3;
const SETTLE_MS = 400;
const SHOWN_MAX_MS = 10_000;
const QUIET_MAX_MS = 1_200;

export interface Picture {
  readonly page: string;
  readonly state: State;
  readonly width: number;
  readonly theme: (typeof THEMES)[number];
  readonly file: string;
}

/** Takes a picture of every page in every state, width and theme. */
export async function takePictures(
  browser: Browser,
  { url, pages, folder }: { url: string; pages: readonly GalleryPage[]; folder: string },
): Promise<Picture[]> {
  const kinds = STATES.flatMap((state) =>
    (state === 'full' ? WIDTHS : OTHER_WIDTHS).flatMap((width) =>
      (state === 'full' ? THEMES : (['light'] as const)).map((theme) => ({ state, width, theme })),
    ),
  );
  const taken: Picture[] = [];
  const queue = kinds.values();
  const lane = async () => {
    for (const kind of queue) taken.push(...(await takeKind(browser, { url, pages, folder, ...kind })));
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return taken;
}

type Kind = Pick<Picture, 'state' | 'width' | 'theme'>;

async function takeKind(
  browser: Browser,
  { url, pages, folder, ...kind }: Kind & { url: string; pages: readonly GalleryPage[]; folder: string },
): Promise<Picture[]> {
  const context = await browser.newContext({
    ...{ baseURL: url, viewport: { width: kind.width, height: 900 } },
    ...{ colorScheme: kind.theme, reducedMotion: 'reduce' },
  });
  try {
    const login = await context.request.post('/api/v1/auth/login', {
      data: { username: ADMIN, password: PASSWORD },
    });
    if (!login.ok()) throw new Error(`the login answered ${login.status()}`);
    await setState(context, kind.state);
    const taken: Picture[] = [];
    for (const page of pages) {
      const file = `${page.name}-${kind.state}-${kind.width}-${kind.theme}.png`;
      await takeOne(context, {
        ...{ path: page.path, file: join(folder, file), width: kind.width },
        isFailing: kind.state === 'error',
      });
      taken.push({ ...kind, page: page.name, file });
    }
    return taken;
  } finally {
    await context.close();
  }
}

async function takeOne(
  context: BrowserContext,
  { path, file, width, isFailing }: { path: string; file: string; width: number; isFailing: boolean },
): Promise<void> {
  const page = await context.newPage();
  await page.goto(path, { waitUntil: 'load' });
  // A page without a title is pictured as it is: that is what has to be seen.
  await page
    .locator('h1')
    .first()
    .waitFor({ timeout: SHOWN_MAX_MS })
    .catch(() => {});
  // The stream of changes never ends, and a page that loads for ever is one of the states.
  await page.waitForLoadState('networkidle', { timeout: QUIET_MAX_MS }).catch(() => {});
  // A failed request is tried again before the page says so.
  if (isFailing)
    await page
      .getByRole('alert')
      .first()
      .waitFor({ timeout: SHOWN_MAX_MS })
      .catch(() => {});
  await page.waitForTimeout(SETTLE_MS);
  const height = Math.min(HEIGHT_MAX, Number(await page.evaluate('document.documentElement.scrollHeight')));
  await page.setViewportSize({ width, height: Math.max(900, height) });
  await page.screenshot({ path: file });
  await page.close();
}
