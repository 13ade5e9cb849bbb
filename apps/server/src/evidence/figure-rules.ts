/**
 * The numbers of the report. Each is counted over lines of one folder of the bundle, by a rule that the bundle states, so
 * that a verifier counts again and a reader finds the lines.
 */
export interface Figure {
  readonly id: string;
  /** The folder whose lines are counted. */
  readonly of: string;
  /** What a line has in these members (`a.b` is a member of a member): this value, or a number from the first to the last. */
  readonly where: Where;
  readonly how: How;
  /** What `sum`, `max` and the percentiles are of. */
  readonly member: string | null;
}

export type Where = Readonly<Record<string, string | boolean | readonly [number, number]>>;
export type How = 'count' | 'sum' | 'max' | 'median' | 'p90';

export interface CountedFigure extends Figure {
  /** Null: no line has what it is of. */
  readonly value: number | null;
  /** How many lines counted. */
  readonly lines: number;
  /** The first line, as `FILE:LINE`. */
  readonly first: string | null;
}

export interface FigureTally {
  take(of: string, line: object, place: string): void;
  result(): CountedFigure[];
}

/** Largest number that percentiles keep apart: days are counted to a century. */
const VALUE_MAX = 36_525;

export function createTally(figures: readonly Figure[]): FigureTally {
  const counts = figures.map((figure) => ({
    ...{ figure, ...EMPTY, byValue: new Map<number, number>() },
    conditions: Object.entries(figure.where).map(([path, wanted]) => ({ path: path.split('.'), wanted })),
    member: figure.member === null ? null : figure.member.split('.'),
  }));
  const byFolder = Map.groupBy(counts, ({ figure }) => figure.of);
  return {
    take(of, line, place) {
      for (const count of byFolder.get(of) ?? []) {
        const { figure, conditions, member } = count;
        if (!conditions.every((condition) => fits(line, condition))) continue;
        const value = member === null ? 0 : memberAt(line, member);
        if (typeof value !== 'number') continue;
        count.lines++;
        count.first ??= place;
        count.sum += value;
        count.max = Math.max(count.max, value);
        if (figure.how !== 'median' && figure.how !== 'p90') continue;
        const kept = Math.min(value, VALUE_MAX);
        count.byValue.set(kept, (count.byValue.get(kept) ?? 0) + 1);
      }
    },
    result: () => counts.map((count) => ({ ...count.figure, ...figureValue(count) })),
  };
}

const EMPTY = { lines: 0, sum: 0, max: 0, first: null as string | null };

type Counted = typeof EMPTY & { figure: Figure; byValue: ReadonlyMap<number, number> };

function figureValue({ figure, lines, sum, max, first, byValue }: Counted) {
  const about = { lines, first };
  switch (figure.how) {
    case 'count':
      return { ...about, value: lines };
    case 'sum':
      return { ...about, value: sum };
    case 'max':
      return { ...about, value: lines === 0 ? null : max };
    case 'median':
      return { ...about, value: nearestRank(byValue, { lines, share: 0.5 }) };
    case 'p90':
      return { ...about, value: nearestRank(byValue, { lines, share: 0.9 }) };
  }
}

/** The smallest value that so great a share of the lines does not exceed. */
function nearestRank(
  byValue: ReadonlyMap<number, number>,
  { lines, share }: { lines: number; share: number },
): number | null {
  const rank = Math.ceil(lines * share);
  let seen = 0;
  for (const [value, count] of [...byValue].toSorted(([a], [b]) => a - b)) {
    seen += count;
    if (seen >= rank) return value;
  }
  return null;
}

function fits(line: object, { path, wanted }: { path: readonly string[]; wanted: Where[string] }): boolean {
  const value = memberAt(line, path);
  if (typeof wanted !== 'object') return value === wanted;
  const [from, to] = wanted;
  return typeof value === 'number' && value >= from && value <= to;
}

function memberAt(line: object, path: readonly string[]): unknown {
  let value: unknown = line;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = Reflect.get(value, name);
  }
  return value;
}

export const REPORT_SEVERITIES = ['critical', 'high', 'medium', 'low', 'unknown', 'none'] as const;
export type ReportSeverity = (typeof REPORT_SEVERITIES)[number];

/** Whole days from the report of a host that it lacks an update, to its installation. */
export const DAY_BUCKETS = [
  [0, 2],
  [3, 7],
  [8, 14],
  [15, 30],
  [31, 90],
  [91, VALUE_MAX],
] as const;

export const WAITING_REASONS = ['under_way', 'failed', 'held', 'stopped', 'not_asked', 'rejected'] as const;

const REFUSALS = ['COMMAND_REFUSED', 'ARTIFACT_MISMATCH', 'PLAN_DRIFT'] as const;

function figure(id: string, of: string, where: Where = {}, how: How = 'count', member?: string): Figure {
  return { id, of, where, how, member: member ?? null };
}

/** Every number that the report shows. */
export const FIGURES: readonly Figure[] = [
  figure('hosts', 'hosts'),
  ...REPORT_SEVERITIES.flatMap((severity) => {
    const installed = { outcome: 'installed', severity };
    const waiting = { outcome: 'waiting', severity };
    return [
      figure(`installed.${severity}`, 'updates', installed),
      ...DAY_BUCKETS.map(([from, to]) =>
        figure(`installed.${severity}.${from}`, 'updates', { ...installed, days: [from, to] }),
      ),
      figure(`installed.${severity}.median`, 'updates', installed, 'median', 'days'),
      figure(`installed.${severity}.p90`, 'updates', installed, 'p90', 'days'),
      figure(`waiting.${severity}`, 'updates', waiting),
      figure(`waiting.${severity}.max`, 'updates', waiting, 'max', 'days'),
    ];
  }),
  figure('installed', 'updates', { outcome: 'installed' }),
  figure('superseded', 'updates', { outcome: 'superseded' }),
  figure('waiting', 'updates', { outcome: 'waiting' }),
  ...WAITING_REASONS.map((reason) => figure(`waiting.${reason}`, 'updates', { outcome: 'waiting', reason })),
  figure('approvals', 'approvals'),
  figure('approvals.overridden', 'approvals', { is_override: true }),
  figure('approvals.policy', 'approvals', { is_policy: true }),
  figure('artifacts', 'approvals', {}, 'sum', 'artifacts'),
  figure('artifacts.hashed', 'approvals', {}, 'sum', 'hashed'),
  figure('artifacts.signed_origin', 'approvals', {}, 'sum', 'origin_keys'),
  figure('results.success', 'approvals', {}, 'sum', 'succeeded'),
  figure('results.failed', 'approvals', {}, 'sum', 'failed'),
  figure('decisions', 'decisions'),
  figure('decisions.blocked', 'decisions', { outcome: 'blocked' }),
  figure('rollouts', 'rollouts'),
  figure('rollouts.finished', 'rollouts', { state: 'finished' }),
  figure('rollouts.halted', 'rollouts', { state: 'halted' }),
  figure('policies', 'policies'),
  figure('origins', 'origins'),
  figure('divergences', 'divergences'),
  figure('divergences.open', 'divergences', { state: 'open' }),
  ...REFUSALS.map((type) => figure(`events.${type}`, 'events', { 'event.type': type })),
  figure('statements', 'statements'),
  figure('statements.not_affected', 'statements', { status: 'not_affected' }),
  figure('statements.accepted', 'statements', { status: 'accepted' }),
  figure('holds', 'exceptions', { kind: 'hold' }),
  figure('age_exceptions', 'exceptions', { kind: 'age' }),
  figure('unfixed', 'unfixed'),
  figure('unfixed.mitigated', 'unfixed', { is_mitigated: true }),
];
