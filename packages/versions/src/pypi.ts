import { parse } from '@renovatebot/pep440';
import { compareDigits, compareText, type Order, type Sign, signOf } from './order.ts';

type PypiVersion = { epoch: number; release: number[]; stages: number[]; local: string[] };

/**
 * The order of PEP 440. The library reads the version; the comparison is here, because its own one parses both sides
 * each time and takes a local segment such as `1e5` for a number.
 */
export const pypiOrder: Order<PypiVersion> = {
  parse(text) {
    const parsed = parse(text);
    if (parsed === null) return null;
    const { epoch, release } = parsed;
    const pre = stage(parsed.pre);
    const post = stage(parsed.post);
    const dev = stage(parsed.dev);
    const numbers = [epoch, ...release, pre?.number ?? 0, post?.number ?? 0, dev?.number ?? 0];
    if (!numbers.every(Number.isSafeInteger)) return null; // rounded above 2^53
    const isBareDev = pre === null && post === null && dev !== null;
    const preKind = pre === null ? (isBareDev ? beforeAnyPre : afterAnyPre) : preKinds.indexOf(pre.letter);
    const stages = [preKind, pre?.number ?? 0, post?.number ?? -1, dev?.number ?? Number.POSITIVE_INFINITY];
    const [, local] = text.toLowerCase().split('+');
    return { epoch, release, stages, local: local?.split(/[-_.]/) ?? [] };
  },
  compare(a, b) {
    return (
      signOf(a.epoch - b.epoch) ||
      compareNumbers(a.release, b.release) ||
      compareNumbers(a.stages, b.stages) ||
      compareLocals(a.local, b.local)
    );
  },
};

// 1.0.dev0 < 1.0a0 < 1.0b0 < 1.0rc0 < 1.0
const preKinds = ['', 'a', 'b', 'rc'];
const beforeAnyPre = 0;
const afterAnyPre = 4;

/** The library types a stage as a list that is always there; it is `[letter, number]` or null. */
function stage(pair: readonly (string | number)[] | null): { letter: string; number: number } | null {
  return pair === null ? null : { letter: String(pair[0]), number: Number(pair[1]) };
}

/** A missing part counts as zero: 1.0 = 1.0.0. */
function compareNumbers(a: readonly number[], b: readonly number[]): Sign {
  for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
    const left = a[at] ?? 0;
    const right = b[at] ?? 0;
    if (left !== right) return left < right ? -1 : 1;
  }
  return 0;
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
