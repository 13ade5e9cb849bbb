import { type Static, Type } from 'typebox';
import {
  Ecosystem,
  nullable,
  PackageName,
  PackageVersion,
  ShortText,
  strict,
  Timestamp,
  Uuid,
} from './scalars.ts';

/** `described`: the same version, of which the host now names another source or origin. */
export const PackageChangeKind = Type.Enum([
  'installed',
  'removed',
  'changed',
  'held',
  'released',
  'described',
]);
export type PackageChangeKind = Static<typeof PackageChangeKind>;

/** One package that differs between two reports, or between two times. */
export const PackageDifference = Type.Object({
  position: Type.Integer({ minimum: 1, description: 'tells the changes of a host apart; later is higher' }),
  ecosystem: Ecosystem,
  name: PackageName,
  arch: nullable(ShortText),
  kind: PackageChangeKind,
  from_version: nullable(PackageVersion),
  to_version: nullable(PackageVersion),
});
export type PackageDifference = Static<typeof PackageDifference>;

/** The installation that a change came of. */
export const ChangeCommand = Type.Object({
  id: Uuid,
  /** Of this package, or the first of the command where the package came along with it. */
  update_id: nullable(Uuid),
  approved_by: nullable(Type.String(), { description: 'null: its approval is not on record' }),
  policy_id: nullable(Uuid, { description: "the policy that approved in that operator's name" }),
});
export type ChangeCommand = Static<typeof ChangeCommand>;

/** A change of what a host has installed, as its reports say. */
export const PackageChange = Type.Object({
  ...PackageDifference.properties,
  reported_at: Timestamp,
  cause: Type.Enum(['tidegate', 'outside', 'unknown'], {
    description: 'outside: no command of this server brought it; unknown: too many commands to tell',
  }),
  command: nullable(ChangeCommand),
});
export type PackageChange = Static<typeof PackageChange>;

/** A package that a host had installed at a time. */
export const PackageThen = Type.Object({
  ecosystem: Ecosystem,
  name: PackageName,
  version: PackageVersion,
  arch: nullable(ShortText),
  source_name: nullable(PackageName),
  source_version: nullable(PackageVersion),
  origin: nullable(Type.String()),
  held: Type.Boolean(),
});
export type PackageThen = Static<typeof PackageThen>;

/** From when on the changes of an ecosystem are all kept. */
export const KnownSince = strict({
  ecosystem: Ecosystem,
  known_since: nullable(Timestamp, { description: 'null: its first report is still being stored' }),
  known: Type.Boolean({
    description: 'false: what was installed at the earliest time that was asked about is not known',
  }),
});
export type KnownSince = Static<typeof KnownSince>;

/** Filters; query values are text. */
export const PackageHistoryFilter = {
  q: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'part of the package name' })),
  ecosystem: Type.Optional(Ecosystem),
};
export const PackageChangeFilter = {
  ...PackageHistoryFilter,
  kind: Type.Optional(PackageChangeKind),
  cause: Type.Optional(Type.Enum(['tidegate', 'outside'])),
  since: Type.Optional(Timestamp),
  until: Type.Optional(Timestamp),
};
