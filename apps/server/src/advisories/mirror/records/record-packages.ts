import { canonicalName } from '@tidegate/versions/names';
import { ecosystemCovers, orderingEcosystem } from '@tidegate/versions/osv-ecosystems';

/** A package with the normalised form of its name. */
export interface NamedPackage {
  readonly eco: string;
  readonly name: string;
}

/** The package of a member of `affected`; null when it does not match the schema. */
export function packageOf(value: unknown): NamedPackage | null {
  if (!isFields(value)) return null;
  const { ecosystem: eco, name } = value;
  if (typeof eco !== 'string' || typeof name !== 'string') return null;
  const ordering = orderingEcosystem(eco);
  return { eco, name: ordering === null ? name : canonicalName(ordering, name) };
}

/** A bare `Debian`, or a release more specific than the fleet's, also matches; null means every release. */
export function isOfFleet(record: string, releases: readonly string[] | null): boolean {
  return releases === null || releases.some((host) => ecosystemCovers({ record, host }) !== 'no');
}

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
