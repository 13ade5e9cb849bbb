import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { browserMissing, launchChromium } from '../e2e/harness/chromium.ts';
import { openDemo } from './demo/live.ts';
import { ADMIN, actAs } from './demo/people.ts';
import { say, title } from './demo/voice.ts';
import { comparePictures } from './gallery/compare.ts';
import { galleryPage, reviewPage } from './gallery/html.ts';
import { pagesOf } from './gallery/pages.ts';
import { takePictures } from './gallery/take.ts';

const USAGE = `Usage: npm run gallery [-- --out DIR] [-- --compare OLD]
Takes pictures of every page of the console on the fleet of the demo: three widths, two themes, hostile, empty, loading, error.
  --out DIR       where they go, replacing what is there (default dist/gallery)
  --compare OLD   also writes DIR/review.html: what differs from the gallery in the folder OLD
  --only TEXT     only pages whose name contains it
`;

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'dist/gallery' },
    compare: { type: 'string' },
    only: { type: 'string', default: '' },
    help: { type: 'boolean', short: 'h' },
  },
});
const out = resolve(values.out);
const old = values.compare === undefined ? null : resolve(values.compare);
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
  return browserMissing();
}

async function buildGallery(): Promise<void> {
  await using demo = await openDemo({ port: 0 });
  const all = await pagesOf(actAs(ADMIN, () => demo.url));
  const pages = all.filter(({ name }) => name.includes(values.only));
  title(`Pictures of ${pages.length} pages`);
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  // One that is broken off can be replaced too.
  writeFileSync(join(out, 'index.html'), galleryPage([]));
  const browser = await launchChromium();
  try {
    const pictures = await takePictures(browser, { url: demo.url, pages, folder: out });
    writeFileSync(join(out, 'index.html'), galleryPage(pictures));
    say('console', `${pictures.length} pictures: ${join(out, 'index.html')}`);
    if (old === null) return;
    const files = pictures.map(({ file }) => file);
    const differences = comparePictures(files, { folder: out, old });
    writeFileSync(join(out, 'review.html'), reviewPage(differences, relative(out, old)));
    say('console', `${differences.length} differ: ${join(out, 'review.html')}`);
  } finally {
    await browser.close();
  }
}
