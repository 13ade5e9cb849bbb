import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { PNG } from 'pngjs';
import { accessibilityFaults, OF_COLOURS } from '../../e2e/harness/accessibility.ts';
import { SILENT_SCROLLERS } from '../../e2e/harness/silent-scrollers.ts';
import { ADMIN, PASSWORD } from '../demo/people.ts';
import { setClock } from './clock.ts';
import { type GalleryPage, isShownIn } from './pages.ts';
import { END_SESSION, type State, setState } from './states.ts';
import { TURNED_TEXT } from './turned-text.ts';
import { waitUntilShown } from './wait.ts';

type Theme = 'light' | 'dark';
type Views = readonly (readonly [width: number, themes: readonly Theme[]])[];

export const WIDTHS = [1440, 1024, 390] as const;
const VIEWS: Views = WIDTHS.map((width) => [width, ['light', 'dark']]);
/** What is not `full`. */
const OTHER_VIEWS: Views = [
  [1440, ['light']],
  [1024, ['dark']],
  [390, ['dark']],
];
/** A picture ends here. */
const HEIGHT_MAX = 4_000;
const HEIGHT_MIN = 900;
/** Real names and versions fit in tables without scrolling from this width on. */
const ROOMY_MIN = 1_024;
const CUT_TABLES = `document.querySelectorAll('.table-place .sideways[data-cut]').length`;
/** Pages at a time. */
const LANES = 3;
/** A picture of one colour is smaller than this. */
const BLANK_MAX_BYTES = 20_000;

export interface Picture {
  readonly page: string;
  readonly state: State;
  readonly width: number;
  readonly theme: Theme;
  readonly file: string;
}

export interface Taken {
  readonly pictures: readonly Picture[];
  /** What is wrong with which picture, or why there is none. */
  readonly faults: readonly string[];
}

export interface Places {
  /** The fleet of the demo. */
  readonly fleet: string;
  /** A server with its first operator and nothing else. */
  readonly empty: string;
  /** The link that makes the first operator of a third server. */
  readonly setUp: string;
  /** How far the clock of these servers is ahead of that of the machine. */
  readonly aheadMs: number;
}

interface Job {
  readonly page: GalleryPage;
  readonly state: State;
  readonly views: Views;
}

/** The pictures that are asked for. */
export interface Wanted {
  readonly pages: readonly GalleryPage[];
  readonly states: readonly State[];
  readonly widths: readonly number[];
}

/** Takes a picture of every page in each state, width and theme. A page is opened once for each state. */
export async function takePictures(
  browser: Browser,
  { places, wanted, folder }: { places: Places; wanted: Wanted; folder: string },
): Promise<Taken> {
  const { pages, states, widths } = wanted;
  const pictures: Picture[] = [];
  const faults: string[] = [];
  const contexts = new Map<string, Promise<BrowserContext>>();
  const viewsOf = (state: State) =>
    (state === 'full' ? VIEWS : OTHER_VIEWS).filter(([width]) => widths.includes(width));
  const jobs = states
    .flatMap((state) =>
      pages
        .filter((page) => isShownIn(page, state))
        .map((page): Job => ({ page, state, views: viewsOf(state) })),
    )
    .values();

  const lane = async () => {
    for (const job of jobs) {
      const visit = visitOf(job, places);
      const context = contexts.get(visit.key) ?? openContext(browser, visit);
      contexts.set(visit.key, context);
      await takePage(await context, { ...job, folder, path: visit.path, pictures, faults });
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  await Promise.all([...contexts.values()].map(async (context) => (await context).close()));
  return { pictures, faults };
}

/** Where a page is looked at, and by whom; pages with the same key share cookies and caches. */
function visitOf({ page, state }: Job, places: Places) {
  if (page.visit === 'set-up') {
    const { origin, pathname } = new URL(places.setUp);
    return { url: origin, path: pathname, aheadMs: places.aheadMs, state, isIn: false, key: 'set-up' };
  }
  const isNew = state === 'empty' && !page.isOfOne;
  const isIn = page.visit !== 'nobody';
  const url = isNew ? places.empty : places.fleet;
  return {
    url,
    path: page.path,
    aheadMs: places.aheadMs,
    state: isNew ? ('full' as const) : state,
    isIn,
    key: `${url} ${state} ${isIn}`,
  };
}

async function openContext(
  browser: Browser,
  { url, aheadMs, state, isIn }: { url: string; aheadMs: number; state: State; isIn: boolean },
): Promise<BrowserContext> {
  const viewport = { width: 1440, height: HEIGHT_MIN };
  const context = await browser.newContext({ baseURL: url, viewport, reducedMotion: 'reduce' });
  if (isIn) {
    const data = { username: ADMIN, password: PASSWORD };
    const login = await context.request.post('/api/v1/auth/login', { data });
    if (!login.ok()) throw new Error(`the login answered ${login.status()}`);
  }
  await setClock(context, aheadMs);
  await setState(context, state);
  return context;
}

async function takePage(
  context: BrowserContext,
  given: Job & { path: string; folder: string; pictures: Picture[]; faults: string[] },
): Promise<void> {
  const { page: shown, state, views, folder, pictures, faults } = given;
  const page = await context.newPage();
  const tell = (what: string) => faults.push(`${shown.name}, ${state}: ${what}`);
  page.on('pageerror', ({ message }) => tell(`uncaught error: ${message}`));
  try {
    await page.goto(given.path, { waitUntil: 'commit' });
    await waitUntilShown(page, state);
    for (const name of shown.press ?? [])
      await page.getByRole('button', { name, exact: true }).first().click();
    if (shown.visit === 'session-ended') {
      await page.evaluate(END_SESSION);
      await page
        .getByRole('button', { name: /^Refresh/ })
        .first()
        .click();
      await page.getByRole('dialog').waitFor();
    }
    for (const [width, themes] of views) {
      await stretch(page, width, state);
      for (const [index, theme] of themes.entries()) {
        const file = `${shown.name}-${state}-${width}-${theme}.png`;
        await page.emulateMedia({ colorScheme: theme });
        const image = await picture(page);
        if (image === null) tell(`blank at ${width}, ${theme}`);
        else {
          writeFileSync(join(folder, file), image);
          pictures.push({ page: shown.name, state, width, theme, file });
        }
        const rules = index === 0 ? undefined : OF_COLOURS;
        for (const fault of await accessibilityFaults(page, rules)) tell(`at ${width}, ${theme}: ${fault}`);
      }
      const beyond = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'));
      if (beyond > 0) tell(`${beyond} pixels wider than the window at ${width}`);
      // Its notice comes with the next frame after the window has its width.
      const silent = async () => Object(await page.evaluate(SILENT_SCROLLERS));
      const [first] = (await silent()).length > 0 ? await silent() : [];
      if (first !== undefined) tell(`scrolls sideways without saying so at ${width}: ${first}`);
      const cut = Number(await page.evaluate(CUT_TABLES));
      if (cut > 0 && state === 'full' && width >= ROOMY_MIN && !shown.isWide && !shown.press)
        tell(`columns are out of sight at ${width}`);
      const turned = Object(await page.evaluate(TURNED_TEXT));
      if (turned.length > 0) tell(`a name turns what follows it at ${width}: ${turned.join(' | ')}`);
    }
  } catch (error) {
    tell(error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error));
  } finally {
    await page.close();
  }
}

/** Gives the window the height of the page, so that what sticks to its edges is where it belongs. */
async function stretch(page: Page, width: number, state: State): Promise<void> {
  await page.setViewportSize({ width, height: HEIGHT_MIN });
  await waitUntilShown(page, state);
  const height = Math.min(HEIGHT_MAX, Number(await page.evaluate('document.documentElement.scrollHeight')));
  if (height <= HEIGHT_MIN) return;
  await page.setViewportSize({ width, height });
  await waitUntilShown(page, state);
}

/** Null where it has one colour, also the second time. */
async function picture(page: Page): Promise<Buffer | null> {
  for (let attempt = 0; attempt < 2; attempt++) {
    const image = await page.screenshot();
    if (image.length > BLANK_MAX_BYTES || !isBlank(PNG.sync.read(image))) return image;
  }
  return null;
}

export function isBlank({ data }: Pick<PNG, 'data'>): boolean {
  const first = data.readUInt32BE(0);
  for (let at = 4; at < data.length; at += 4) if (data.readUInt32BE(at) !== first) return false;
  return true;
}
