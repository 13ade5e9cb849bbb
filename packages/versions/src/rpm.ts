import { compareDigits, compareText, isDigit, type Order, type Sign, withoutLeadingZeros } from './order.ts';

/** Digits by their value; as text, without leading zeros, where a number would round it. */
type Segment = number | string;
type RpmVersion = { epoch: Segment; version: Segment[]; release: Segment[] | null };

const evr = /^(?:([0-9]+):)?([A-Za-z0-9._+~^]+)(?:-([A-Za-z0-9._+~^]+))?$/;

/** The order of rpm's epoch, version and release, `[E:]V[-R]` (rpm-version(7)). Any other text is not parsed. */
export const rpmOrder: Order<RpmVersion> = {
  parse(text) {
    const [, epoch = '0', version, release = null] = evr.exec(text) ?? []; // an absent epoch is 0
    if (version === undefined) return null;
    return {
      epoch: numberOf(epoch),
      version: segmentsOf(version),
      release: release === null ? null : segmentsOf(release),
    };
  },
  compare(a, b) {
    return (
      compareSegment(a.epoch, b.epoch) ||
      compareSegments(a.version, b.version) ||
      compareReleases(a.release, b.release)
    );
  },
};

/** Absent is no wildcard: a version without a release sorts before any release of it, so that the order is total. */
function compareReleases(a: Segment[] | null, b: Segment[] | null): Sign {
  if (a !== null && b !== null) return compareSegments(a, b);
  if (a === null && b === null) return 0;
  return a === null ? -1 : 1;
}

/** Segment by segment: `~` sorts before the end, `^` after the end but before anything else, digits after letters. */
function compareSegments(a: readonly Segment[], b: readonly Segment[]): Sign {
  for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
    const difference = compareSegment(a[at], b[at]);
    if (difference !== 0) return difference;
  }
  return 0;
}

function compareSegment(a: Segment | undefined, b: Segment | undefined): Sign {
  if (a === b) return 0;
  if (typeof a === 'number' && typeof b === 'number') return a < b ? -1 : 1;
  const rankDifference = rank(a) - rank(b);
  if (rankDifference !== 0) return rankDifference < 0 ? -1 : 1;
  if (typeof a === 'string' && typeof b === 'string')
    return isDigit(a, 0) ? compareDigits(a, b) : compareText(a, b);
  return typeof a === 'number' ? -1 : 1; // the other one is too long to be a number
}

/** Separators only part segments: they carry no order of their own. */
function segmentsOf(text: string): Segment[] {
  const segments = text.match(/[0-9]+|[A-Za-z]+|[~^]/g) ?? [];
  return segments.map((segment) => (isDigit(segment, 0) ? numberOf(segment) : segment));
}

/** Every number of so many digits is exact. */
const EXACT_DIGITS = 15;

function numberOf(digits: string): Segment {
  const significant = withoutLeadingZeros(digits);
  return significant.length <= EXACT_DIGITS ? Number(significant) : significant;
}

function rank(segment: Segment | undefined): number {
  if (segment === undefined) return 1;
  if (typeof segment === 'number' || isDigit(segment, 0)) return 4;
  if (segment === '~') return 0;
  return segment === '^' ? 2 : 3;
}
