import { npmOrder } from './npm.ts';
import { compareDigits } from './order.ts';
import { pypiOrder } from './pypi.ts';

/** The changes of a version, from the smallest. */
export const CHANGES = ['patch', 'minor', 'major'] as const;
export type Change = (typeof CHANGES)[number];

/** The greatest change that a policy allows; `any` also allows what cannot be told. */
export const MAX_CHANGES = ['patch', 'minor', 'any'] as const;
export type MaxChange = (typeof MAX_CHANGES)[number];

const VERSION_MAX_CHARS = 1024;
const [EPOCH, FIRST, SECOND] = [0, 1, 2];

/**
 * How far two versions of an npm or PyPI package are apart, in either direction. npm: the first of major, minor and
 * patch that differs (Semantic Versioning 2.0.0). PyPI: the first segment of the release that differs (PEP 440);
 * another epoch is a major change. Below 1.0 the second number counts as the major one, because such releases may
 * break anything (item 4). Equal numbers are a patch: pre-releases, post-releases and builds. Null for other
 * ecosystems and for what is no version there. Never throws.
 */
export function changeOf(ecosystem: string, { from, to }: { from: string; to: string }): Change | null {
  const [before, after] = [partsOf(ecosystem, from), partsOf(ecosystem, to)];
  if (before === null || after === null) return null;
  const differs = (at: number) => compareDigits(before[at] ?? '0', after[at] ?? '0') !== 0;
  if (differs(EPOCH) || differs(FIRST)) return 'major';
  if (!differs(SECOND)) return 'patch';
  return compareDigits(before[FIRST] ?? '0', '0') === 0 ? 'major' : 'minor';
}

/** Whether two versions are of one series: the change from one to the other is no major one. Null: not known. */
export function isOfSeries(ecosystem: string, versions: { from: string; to: string }): boolean | null {
  const change = changeOf(ecosystem, versions);
  return change === null ? null : change !== 'major';
}

/** Whether a policy allows a change. One that is not known is allowed by `any` alone. */
export function isWithin(max: MaxChange, change: Change | null): boolean {
  if (max === 'any') return true;
  return change !== null && CHANGES.indexOf(change) <= CHANGES.indexOf(max);
}

/** The numbers that decide, behind the epoch; null for what is no version. */
function partsOf(ecosystem: string, text: string): readonly string[] | null {
  if (text.length > VERSION_MAX_CHARS) return null;
  if (ecosystem === 'npm') {
    const version = npmOrder.parse(text);
    return version && ['0', `${version.major}`, `${version.minor}`];
  }
  if (ecosystem !== 'pypi') return null;
  const version = pypiOrder.parse(text);
  return version && [version.epoch, ...version.release.slice(0, 2)];
}
