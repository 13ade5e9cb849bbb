import { canonicalName } from '@tidegate/versions/names';
import { ecosystemCovers, orderingEcosystem } from '@tidegate/versions/osv-ecosystems';

/** Packages are found by the normal form of their name. */
export interface NamedPackage {
  readonly eco: string;
  readonly name: string;
}

/** The package of a member of `affected`; null where it is none of the schema's form. */
export function packageOf(value: unknown): NamedPackage | null {
  if (!isFields(value)) return null;
  const { ecosystem: eco, name } = value;
  if (typeof eco !== 'string' || typeof name !== 'string') return null;
  const ordering = orderingEcosystem(eco);
  return { eco, name: ordering === null ? name : canonicalName(ordering, name) };
}

/** A bare `Debian` and a release that the fleet names less exactly belong to it too; null is every release. */
export function isOfFleet(record: string, releases: readonly string[] | null): boolean {
  return releases === null || releases.some((host) => ecosystemCovers({ record, host }) !== 'no');
}

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
