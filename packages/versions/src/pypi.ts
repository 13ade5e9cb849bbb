import { parse } from '@renovatebot/pep440';
import { compareDigits, compareText, isDigit, type Order, type Sign, signOf } from './order.ts';

/** Numbers are runs of digits, as they stand: a date or a commit count in a version has no largest value. */
type PypiVersion = {
  epoch: string;
  release: string[];
  pre: { kind: number; digits: string };
  /** Null: not a post-release, which sorts before any. */
  post: string | null;
  /** Null: not a development release, which sorts after any. */
  dev: string | null;
  local: string[];
};

/**
 * The order of PEP 440. The library reads the version; the comparison is here, because its own one parses both sides
 * each time, rounds numbers above 2^53 and takes a local segment such as `1e5` for a number.
 */
export const pypiOrder: Order<PypiVersion> = {
  parse(text) {
    const { shape, runs } = shapeOf(text);
    const parsed = parse(shape);
    if (parsed === null) return null;
    const digitsAt = (place: string | number = 0) => runs[typeof place === 'number' ? place : 0] ?? '0';
    const { pre, post, dev } = parsed;
    const isBareDev = pre === null && post === null && dev !== null;
    const preKind = pre === null ? (isBareDev ? beforeAnyPre : afterAnyPre) : preKinds.indexOf(`${pre[0]}`);
    const plus = text.indexOf('+');
    return {
      epoch: digitsAt(parsed.epoch),
      release: parsed.release.map(digitsAt),
      pre: { kind: preKind, digits: digitsAt(pre?.[1]) },
      post: post === null ? null : digitsAt(post[1]),
      dev: dev === null ? null : digitsAt(dev[1]),
      local:
        plus === -1
          ? []
          : text
              .slice(plus + 1)
              .toLowerCase()
              .split(/[-_.]/),
    };
  },
  compare(a, b) {
    return (
      compareDigits(a.epoch, b.epoch) ||
      compareReleases(a.release, b.release) ||
      signOf(a.pre.kind - b.pre.kind) ||
      compareDigits(a.pre.digits, b.pre.digits) ||
      compareStages(a.post, b.post, { absent: -1 }) ||
      compareStages(a.dev, b.dev, { absent: 1 }) ||
      compareLocals(a.local, b.local)
    );
  },
};

// 1.0.dev0 < 1.0a0 < 1.0b0 < 1.0rc0 < 1.0
const preKinds = ['', 'a', 'b', 'rc'];
const beforeAnyPre = 0;
const afterAnyPre = 4;

/**
 * A version with the place in a list where each of its runs of digits stood: the library, which makes numbers of them,
 * is shown that. An absent number is the 0 at the head of the list.
 */
function shapeOf(text: string): { shape: string; runs: string[] } {
  const runs = ['0'];
  let shape = '';
  let copied = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (!isDigit(text, at)) continue;
    const start = at;
    while (isDigit(text, at + 1)) at += 1;
    runs.push(text.slice(start, at + 1));
    shape += text.slice(copied, start) + (runs.length - 1);
    copied = at + 1;
  }
  return { shape: shape + text.slice(copied), runs };
}

/** A missing part counts as zero: 1.0 = 1.0.0. */
function compareReleases(a: readonly string[], b: readonly string[]): Sign {
  for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
    const difference = compareDigits(a[at] ?? '0', b[at] ?? '0');
    if (difference !== 0) return difference;
  }
  return 0;
}

function compareStages(a: string | null, b: string | null, { absent }: { absent: -1 | 1 }): Sign {
  if (a !== null && b !== null) return compareDigits(a, b);
  if (a === b) return 0;
  return a === null ? absent : signOf(-absent);
}

/** Numbers sort after words, a longer local version after its own prefix, and none before any. */
function compareLocals(a: readonly string[], b: readonly string[]): Sign {
  for (let at = 0; at < Math.min(a.length, b.length); at += 1) {
    const difference = compareLocalSegments(a[at] ?? '', b[at] ?? '');
    if (difference !== 0) return difference;
  }
  return signOf(a.length - b.length);
}

function compareLocalSegments(a: string, b: string): Sign {
  const isLeftNumber = /^[0-9]+$/.test(a);
  const isRightNumber = /^[0-9]+$/.test(b);
  if (isLeftNumber !== isRightNumber) return isLeftNumber ? 1 : -1;
  return isLeftNumber ? compareDigits(a, b) : compareText(a, b);
}
