import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { browserMissing, launchChromium } from '../e2e/harness/chromium.ts';
import { openDemo } from './demo/live.ts';
import { ADMIN, actAs } from './demo/people.ts';
import { say, title } from './demo/voice.ts';
import { comparePictures, gonePictures } from './gallery/compare.ts';
import { openEmptyServers } from './gallery/empty-servers.ts';
import { galleryPage, reviewPage } from './gallery/html.ts';
import { pagesOf } from './gallery/pages.ts';
import { STATES } from './gallery/states.ts';
import { takePictures, WIDTHS } from './gallery/take.ts';

const USAGE = `Usage: npm run gallery [-- --out DIR] [-- --compare OLD]
Takes pictures of every page of the console on the fleet of the demo: three widths, two themes, hostile, empty, loading, error.
It ends with status 1 where a page has no picture, has an uncaught error or a fault that axe-core finds, is wider than its window, scrolls
sideways without saying so, or has text that a name before it turns.
  --out DIR       where they go, replacing what is there (default dist/gallery)
  --compare OLD   also writes DIR/review.html: what differs from the gallery in the folder OLD
  --only TEXT     only pages whose name contains it
  --state STATE   only that state: full, hostile, empty, loading or error; can be repeated
  --width WIDTH   only that width: 1440, 1024 or 390; can be repeated
  --at URL        of a demo that runs already; without it a fleet is made for one day, the same each time
`;
/** The day of the fleet: pictures of two galleries differ in no date. */
const TODAY = Date.parse('2026-12-02T10:00:00Z');

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'dist/gallery' },
    compare: { type: 'string' },
    only: { type: 'string', default: '' },
    state: { type: 'string', multiple: true, default: [...STATES] },
    width: { type: 'string', multiple: true, default: WIDTHS.map(String) },
    at: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  },
});
const out = resolve(values.out);
const old = values.compare === undefined ? null : resolve(values.compare);
const states = STATES.filter((state) => values.state.includes(state));
const widths = WIDTHS.filter((width) => values.width.includes(String(width)));
const fault = faultOf();
if (values.help) process.stdout.write(USAGE);
else if (fault !== null) {
  process.stderr.write(`${fault}\n${USAGE}`);
  process.exitCode = 2;
} else await buildGallery();

function faultOf(): string | null {
  if (old === out) return '--compare and --out name the same folder: copy the old gallery elsewhere first.';
  if (old !== null && !existsSync(join(old, 'index.html')))
    return `--compare: there is no gallery in ${old}.`;
  if (existsSync(out) && !existsSync(join(out, 'index.html')))
    return `--out: ${out} is there and is no gallery.`;
  if (states.length < new Set(values.state).size) return '--state: there is no such state.';
  if (widths.length < new Set(values.width).size) return '--width: there is no such width.';
  return browserMissing();
}

async function buildGallery(): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const demo =
    values.at === undefined ? stack.use(await openDemo({ port: 0, endMs: TODAY })) : running(values.at);
  const empty = stack.use(await openEmptyServers(demo.now));
  const places = { ...empty, fleet: demo.url, aheadMs: demo.now() - Date.now() };
  const pages = await pagesOf(
    actAs(ADMIN, () => demo.url),
    values.only,
  );
  title(`Pictures of ${pages.length} pages`);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  // One that is broken off can be replaced too.
  writeFileSync(join(out, 'index.html'), galleryPage([], []));
  const browser = await launchChromium();
  stack.defer(() => browser.close());
  const began = performance.now();
  const { pictures, faults } = await takePictures(browser, {
    places,
    wanted: { pages, states, widths },
    folder: out,
  });
  const seconds = Math.round((performance.now() - began) / 1_000);
  writeFileSync(join(out, 'index.html'), galleryPage(pictures, faults));
  say('console', `${pictures.length} pictures in ${seconds} s: ${join(out, 'index.html')}`);
  for (const fault of faults) say('console', `wrong: ${fault}`);
  if (faults.length > 0) process.exitCode = 1;
  if (old === null) return;
  const files = pictures.map(({ file }) => file);
  const differences = comparePictures(files, { folder: out, old });
  const gone = gonePictures(files, { old, only: values.only, states, widths });
  writeFileSync(join(out, 'review.html'), reviewPage({ differences, gone, old: relative(out, old) }));
  say('console', `${differences.length} differ, ${gone.length} are gone: ${join(out, 'review.html')}`);
}

function running(url: string) {
  return { url, now: Date.now };
}
