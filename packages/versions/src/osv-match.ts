import type { Order } from './order.ts';
import type { OsvAffected, OsvRange } from './osv-record.ts';

export type Affectedness = 'affected' | 'unaffected' | 'undecidable';

/**
 * Prepares one member of `affected` for many versions: versions and events are read once (OSV schema,
 * "Evaluation"). The answer is `undecidable` when the version or an event cannot be ordered; it is never guessed.
 */
export function matcherOf<Parsed>(
  order: Order<Parsed>,
  { versions, ranges }: OsvAffected,
  rangeTypes: readonly string[],
): (version: string) => Affectedness {
  if (versions === null || ranges === null) return undecided;
  // A GIT range says nothing about versions; the ranges after it still count.
  const matchRanges = ranges
    .filter((range) => range.type !== 'GIT')
    .map((range) => (rangeTypes.includes(range.type) ? rangeMatcherOf(order, range) : undecided));
  if (versions.length === 0 && matchRanges.length === 0) return unaffected; // a package alone matches nothing
  const matchRange = anyOf(matchRanges);
  if (versions.length === 0) {
    return (text) => {
      const version = order.parse(text);
      return version === null ? 'undecidable' : matchRange(version);
    };
  }
  const spellings = new Set(versions);
  let listed: Parsed[] | null = null;

  return (text) => {
    if (spellings.has(text)) return 'affected';
    const version = order.parse(text);
    if (version === null) return 'undecidable';
    const verdict = matchRange(version);
    if (verdict === 'affected') return verdict;
    // By order and not by spelling: 1.0 is listed where 1.0.0 is. What cannot be read equals nothing that can.
    listed ??= versions.map(order.parse).filter((each) => each !== null);
    return listed.some((each) => order.compare(version, each) === 0) ? 'affected' : verdict;
  };
}

/** Affected where one of them says so, undecidable where only that is missing. */
export function anyOf<Version>(
  matchers: readonly ((version: Version) => Affectedness)[],
): (version: Version) => Affectedness {
  const [first, ...others] = matchers;
  if (first === undefined) return unaffected;
  // Nearly every record has one entry for a package, and that has one range.
  if (others.length === 0) return first;
  return (version) => {
    let isUndecidable = false;
    for (const match of matchers) {
      const verdict = match(version);
      if (verdict === 'affected') return verdict;
      if (verdict === 'undecidable') isUndecidable = true;
    }
    return isUndecidable ? 'undecidable' : 'unaffected';
  };
}

type Boundary<Parsed> = { kind: 'introduced' | 'last_affected' | 'fixed'; at: Parsed | null };

function rangeMatcherOf<Parsed>(
  order: Order<Parsed>,
  { events }: OsvRange,
): (version: Parsed) => Affectedness {
  if (events === null) return undecided;
  const boundaries: Boundary<Parsed>[] = [];
  const limits: Parsed[] = [];
  let isUnlimited = !events.some((event) => event.kind === 'limit');
  for (const { kind, version } of events) {
    if (kind === 'limit' && version === '*') {
      isUnlimited = true;
      continue;
    }
    const at = version === null ? null : order.parse(version);
    if (at === null && version !== null) return undecided;
    if (kind !== 'limit') boundaries.push({ kind, at });
    else if (at !== null) limits.push(at);
  }
  boundaries.sort((a, b) => compareBoundaries(order, b, a));

  return (version) => {
    if (!isUnlimited && !limits.some((limit) => order.compare(version, limit) < 0)) return 'unaffected';
    // The last boundary that the version has reached decides, and the last ones stand first.
    for (const { kind, at } of boundaries) {
      const difference = at === null ? 1 : order.compare(version, at);
      const isReached = kind === 'last_affected' ? difference > 0 : difference >= 0;
      if (isReached) return kind === 'introduced' ? 'affected' : 'unaffected';
    }
    return 'unaffected';
  };
}

const tieOrder = ['introduced', 'last_affected', 'fixed'];

function compareBoundaries<Parsed>(order: Order<Parsed>, a: Boundary<Parsed>, b: Boundary<Parsed>): number {
  const tie = tieOrder.indexOf(a.kind) - tieOrder.indexOf(b.kind);
  if (a.at !== null && b.at !== null) return order.compare(a.at, b.at) || tie;
  if (a.at === null && b.at === null) return tie;
  return a.at === null ? -1 : 1;
}

function undecided(): Affectedness {
  return 'undecidable';
}

function unaffected(): Affectedness {
  return 'unaffected';
}
