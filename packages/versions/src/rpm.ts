import { compareDigits, compareText, type Order, type Sign } from './order.ts';

type RpmVersion = { epoch: string; version: string[]; release: string[] | null };

const evr = /^(?:([0-9]+):)?([A-Za-z0-9._+~^]+)(?:-([A-Za-z0-9._+~^]+))?$/;

/** The order of rpm's epoch, version and release, `[E:]V[-R]` (rpm-version(7)). Any other text is not parsed. */
export const rpmOrder: Order<RpmVersion> = {
  parse(text) {
    const [, epoch = '0', version, release = null] = evr.exec(text) ?? []; // an absent epoch is 0
    if (version === undefined) return null;
    return { epoch, version: segmentsOf(version), release: release === null ? null : segmentsOf(release) };
  },
  compare(a, b) {
    return (
      compareDigits(a.epoch, b.epoch) ||
      compareSegments(a.version, b.version) ||
      compareReleases(a.release, b.release)
    );
  },
};

/** Absent is no wildcard: a version without a release sorts before any release of it, so that the order is total. */
function compareReleases(a: string[] | null, b: string[] | null): Sign {
  if (a !== null && b !== null) return compareSegments(a, b);
  if (a === null && b === null) return 0;
  return a === null ? -1 : 1;
}

/** Segment by segment: `~` sorts before the end, `^` after the end but before anything else, digits after letters. */
function compareSegments(a: readonly string[], b: readonly string[]): Sign {
  for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
    const difference = compareSegment(a[at], b[at]);
    if (difference !== 0) return difference;
  }
  return 0;
}

function compareSegment(a: string | undefined, b: string | undefined): Sign {
  if (a === b) return 0;
  const rankDifference = rank(a) - rank(b);
  if (rankDifference !== 0) return rankDifference < 0 ? -1 : 1;
  if (a === undefined || b === undefined) return 0;
  return rank(a) === numberRank ? compareDigits(a, b) : compareText(a, b);
}

/** Separators only part segments: they carry no order of their own. */
function segmentsOf(text: string): string[] {
  return text.match(/[0-9]+|[A-Za-z]+|[~^]/g) ?? [];
}

const numberRank = 4;
const NINE = 0x39;

function rank(segment: string | undefined): number {
  if (segment === undefined) return 1;
  if (segment === '~') return 0;
  if (segment === '^') return 2;
  return segment.charCodeAt(0) <= NINE ? numberRank : 3; // no segment begins below "0"
}
