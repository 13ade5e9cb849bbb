import { type Static, Type } from 'typebox';
import { type Directed, sortBy } from './lists-api.ts';
import { PackageCondition } from './package-condition.ts';
import {
  Count,
  Ecosystem,
  nullable,
  PackageName,
  PackageVersion,
  Sha256Hex,
  ShortText,
  strict,
  Timestamp,
  Uuid,
} from './scalars.ts';
import { UpdateState, VulnerabilityVerdict } from './states.ts';

/** What a host reported to have installed, and the open update of just this version where there is one. */
export const InstalledItem = Type.Object({
  ecosystem: Ecosystem,
  name: PackageName,
  version: PackageVersion,
  arch: nullable(ShortText),
  source_name: nullable(PackageName),
  source_version: nullable(PackageVersion),
  origin: nullable(Type.String()),
  held: Type.Boolean({ description: 'the package manager is configured not to change it' }),
  update: nullable(
    Type.Object({
      id: Uuid,
      available_version: PackageVersion,
      state: UpdateState,
      verdict: nullable(VulnerabilityVerdict),
      security: Type.Boolean(),
    }),
  ),
});
export type InstalledItem = Static<typeof InstalledItem>;

/** The report that the packages of an ecosystem are from. */
export const ReportItem = Type.Object({
  ecosystem: Ecosystem,
  scanned_at: Timestamp,
  received_at: Timestamp,
  complete: Type.Boolean({ description: 'false: the scan failed in part, so packages may be missing' }),
  packages: Count,
  lists_confirmed_at: nullable(Timestamp, {
    description:
      'when the package lists were last known to be current; null: the host has not said, or there are none',
  }),
  /** Null: the host has not said. */
  condition: nullable(PackageCondition),
  /** What to name in the order of the repair that the condition offers; null where it offers none. */
  repair_sha256: nullable(Sha256Hex),
});
export type ReportItem = Static<typeof ReportItem>;

/** The repair that the operator saw, by its digest. */
export const RepairRequest = strict({ repair_sha256: Sha256Hex });

/** Filters of the list; query values are text. */
export const InstalledFilter = {
  q: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'part of the package name' })),
  ecosystem: Type.Optional(Ecosystem),
  update: Type.Optional(Type.Enum(['true', 'false'], { description: 'whether it has an open update' })),
  verdict: Type.Optional(VulnerabilityVerdict),
};

export const INSTALLED_SORTS = ['name'] as const;
export type InstalledSort = Directed<(typeof INSTALLED_SORTS)[number]>;
export const INSTALLED_SORT_DEFAULT = 'name';
export const InstalledSort = sortBy(INSTALLED_SORTS, 'default name');
