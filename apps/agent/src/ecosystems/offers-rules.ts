import { CANDIDATES_MAX } from '@tidegate/protocol/offers';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { compareVersions } from '@tidegate/versions';
import { isOfSeries } from '@tidegate/versions/change';

export interface OfferedVersion {
  version: string;
  offers: ('series' | 'newest')[];
  /** Only with the newest: all that may be installed, the nearest first. */
  candidates?: string[];
}

/**
 * What is offered of a package: the newest version of the series that is installed, and the newest of all; one entry if
 * they are the same. `versions` may be in any order; those that are not above the installed one, that are above
 * `newest` or that cannot be ordered are left out. `isCandidate` tells which ones may be a smallest fix.
 */
export function chooseOffers(
  ecosystem: Ecosystem,
  {
    current,
    newest,
    versions,
    isCandidate = () => true,
  }: {
    current: string;
    newest: string;
    versions: readonly string[];
    isCandidate?: (version: string) => boolean;
  },
): OfferedVersion[] {
  const isBelow = (a: string, b: string) => compareVersions(ecosystem, a, b) === -1;
  if (!isBelow(current, newest)) return [];
  const between = versions.filter((version) => isBelow(current, version) && isBelow(version, newest));
  between.sort((a, b) => Number(compareVersions(ecosystem, a, b)));
  const rising = [...between, newest];
  const series = rising.findLast((version) => isOfSeries(ecosystem, { from: current, to: version }));
  const candidates = nearest(rising.filter(isCandidate), [series, newest]);
  const offered: OfferedVersion[] = [
    { version: newest, offers: series === newest ? ['series', 'newest'] : ['newest'], candidates },
  ];
  if (series !== undefined && series !== newest) offered.unshift({ version: series, offers: ['series'] });
  return offered;
}

/** The nearest candidates, and in any case those that are offered. */
function nearest(rising: readonly string[], offered: readonly (string | undefined)[]): string[] {
  if (rising.length <= CANDIDATES_MAX) return [...rising];
  const near = rising.slice(0, CANDIDATES_MAX - offered.length);
  return [...near, ...rising.slice(near.length).filter((version) => offered.includes(version))];
}
