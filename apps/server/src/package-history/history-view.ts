import type { KnownSince, PackageDifference, PackageThen } from '@tidegate/protocol/package-history-api';
import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { rfc3339 } from '../platform/clock.ts';
import type { Difference, PackageOf } from './change-rules.ts';
import { isKnown, type KnownTimes } from './read-history.ts';

export function differenceItem({
  position,
  ecosystem,
  name,
  arch,
  kind,
  from,
  to,
}: Difference): PackageDifference {
  return {
    ...{
      position,
      ecosystem: Value.Parse(Ecosystem, ecosystem),
      name,
      arch: arch === '' ? null : arch,
      kind,
    },
    ...{ from_version: from, to_version: to },
  };
}

export function packageItem(one: PackageOf): PackageThen {
  const { name, version, arch, source_name, source_version, origin } = one;
  return {
    ...{ ecosystem: Value.Parse(Ecosystem, one.ecosystem), name, version, arch: arch === '' ? null : arch },
    ...{ source_name, source_version, origin, held: one.held === 1 },
  };
}

export function knownItems(since: KnownTimes, atMs: number): KnownSince[] {
  return [...since].map(([ecosystem, ms]) => ({
    ecosystem: Value.Parse(Ecosystem, ecosystem),
    ...{ known_since: ms === null ? null : rfc3339(ms), known: isKnown(ms, atMs) },
  }));
}
