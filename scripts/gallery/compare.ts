import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pixelmatch from 'pixelmatch';
import { PNG } from 'pngjs';

export interface Difference {
  readonly file: string;
  /** Of the pixels, from 0 to 1; null: there was no such picture. */
  readonly share: number | null;
  /** The picture of what differs, beside the others. */
  readonly shown: string | null;
}

const WHITE = 0xff;
/** `hosts-full-390-dark.png`, but no picture of a difference. */
const OF_PAGE = /^(?!diff-)(.+)-([a-z]+)-(\d+)-(?:light|dark)\.png$/;

/** What was asked for: a part of the names of pages, states and widths. */
interface Asked {
  readonly only: string;
  readonly states: readonly string[];
  readonly widths: readonly number[];
}

/** Pictures of another gallery that are not among these, although they were asked for. */
export function gonePictures(
  files: readonly string[],
  { old, only, states, widths }: Asked & { old: string },
): string[] {
  const isAsked = (file: string) => {
    const [, page = '', state = '', width = ''] = OF_PAGE.exec(file) ?? [];
    return page !== '' && page.includes(only) && states.includes(state) && widths.includes(Number(width));
  };
  return readdirSync(old).filter((file) => isAsked(file) && !files.includes(file));
}

/** Compares each picture with that of the same name in another folder; the largest difference first. */
export function comparePictures(
  files: readonly string[],
  { folder, old }: { folder: string; old: string },
): Difference[] {
  const all = files.map((file) => {
    if (!existsSync(join(old, file))) return { file, share: null, shown: null };
    const [before, after] = [readFileSync(join(old, file)), readFileSync(join(folder, file))];
    if (before.equals(after)) return { file, share: 0, shown: null };
    return compareOne({ file, before: PNG.sync.read(before), after: PNG.sync.read(after), folder });
  });
  return all.filter(({ share }) => share !== 0).toSorted((a, b) => (b.share ?? 2) - (a.share ?? 2));
}

function compareOne({
  file,
  before,
  after,
  folder,
}: {
  file: string;
  before: PNG;
  after: PNG;
  folder: string;
}): Difference {
  const width = Math.max(before.width, after.width);
  const height = Math.max(before.height, after.height);
  const marked = new PNG({ width, height });
  const [a, b] = [padded(before, width, height), padded(after, width, height)];
  const pixels = pixelmatch(a.data, b.data, marked.data, width, height);
  if (pixels === 0) return { file, share: 0, shown: null };
  const shown = `diff-${file}`;
  writeFileSync(join(folder, shown), PNG.sync.write(marked));
  return { file, share: pixels / (width * height), shown };
}

/** On white, as a page that has become longer differs where it was not. */
function padded(image: PNG, width: number, height: number): PNG {
  if (image.width === width && image.height === height) return image;
  const on = new PNG({ width, height });
  on.data.fill(WHITE);
  PNG.bitblt(image, on, 0, 0, image.width, image.height, 0, 0);
  return on;
}
