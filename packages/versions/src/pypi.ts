import { compareDigits, compareText, type Order, type Sign, signOf } from './order.ts';

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

/** PEP 440, appendix B: its published expression for a version, case-insensitive. */
const VERSION = new RegExp(
  [
    '^v?',
    '(?:(?<epoch>[0-9]+)!)?',
    '(?<release>[0-9]+(?:\\.[0-9]+)*)',
    '(?<pre>[-_.]?(?<pre_l>a|b|c|rc|alpha|beta|pre|preview)[-_.]?(?<pre_n>[0-9]+)?)?',
    '(?<post>-(?<post_n1>[0-9]+)|[-_.]?(?<post_l>post|rev|r)[-_.]?(?<post_n2>[0-9]+)?)?',
    '(?<dev>[-_.]?(?<dev_l>dev)[-_.]?(?<dev_n>[0-9]+)?)?',
    '(?:\\+(?<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?$',
  ].join(''),
  'i',
);

/** The order of PEP 440; null for what it does not take for a version. */
export const pypiOrder: Order<PypiVersion> = {
  parse(text) {
    const groups = VERSION.exec(text)?.groups;
    if (groups?.release === undefined) return null;
    const {
      epoch = '0',
      release,
      pre_l,
      pre_n = '0',
      post,
      post_n1,
      post_n2 = '0',
      dev,
      dev_n = '0',
    } = groups;
    const isBareDev = pre_l === undefined && post === undefined && dev !== undefined;
    return {
      epoch,
      release: release.split('.'),
      pre: {
        kind: pre_l === undefined ? (isBareDev ? beforeAnyPre : afterAnyPre) : preKindOf(pre_l),
        digits: pre_n,
      },
      post: post === undefined ? null : (post_n1 ?? post_n2),
      dev: dev === undefined ? null : dev_n,
      local: groups.local?.toLowerCase().split(/[-_.]/) ?? [],
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
const beforeAnyPre = 0;
const afterAnyPre = 4;

/** `alpha` is another spelling of `a`, `beta` of `b`, and `c`, `pre` and `preview` of `rc`. */
function preKindOf(letters: string): number {
  switch (letters.charAt(0).toLowerCase()) {
    case 'a':
      return 1;
    case 'b':
      return 2;
    default:
      return 3;
  }
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
