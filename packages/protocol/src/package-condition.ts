import { type Static, Type } from 'typebox';
import { Repair } from './repairs.ts';
import { Count, nullable, PackageName, ReportedLine, ShortText, strict } from './scalars.ts';

/** Why a host must be mended, or waited for, before anything is installed on it. */
export const HOST_TROUBLES = [
  'packages_broken',
  'transaction_interrupted',
  'packages_locked',
  'space_insufficient',
] as const;
export const HostTroubleReason = Type.Enum(HOST_TROUBLES);
export type HostTroubleReason = Static<typeof HostTroubleReason>;

/** Most broken packages that a report names; `more_broken` counts the others. */
export const BROKEN_PACKAGES_MAX = 50;
/** Most files left beside others that a report names; `more_left_files` counts the others. */
export const LEFT_FILES_MAX = 100;

/** A package that is installed or configured by half, in the words of its package manager. */
export const BrokenPackage = strict({
  name: PackageName,
  version: ReportedLine,
  arch: Type.Optional(ShortText),
  state: ReportedLine,
});
export type BrokenPackage = Static<typeof BrokenPackage>;

/** A configuration file that an update left beside the one that was changed on the host (`.dpkg-dist`, `.rpmnew`). */
export const LeftFile = strict({ path: ReportedLine, package: Type.Optional(PackageName) });
export type LeftFile = Static<typeof LeftFile>;

/** What is wrong with the packages of a host, and what waits for a person there. */
export const PackageCondition = strict({
  /** Null: nothing keeps updates from being installed. `detail` says how to mend it. */
  trouble: nullable(strict({ reason: HostTroubleReason, detail: ReportedLine })),
  broken: Type.Array(BrokenPackage, { maxItems: BROKEN_PACKAGES_MAX }),
  more_broken: Count,
  /** What a signed `repair` command would finish; absent where it could finish nothing. */
  repair: Type.Optional(Repair),
  left_files: Type.Array(LeftFile, { maxItems: LEFT_FILES_MAX }),
  more_left_files: Count,
  /** Folders of configuration files that the agent may not read: what was left there is not known. */
  unread_folders: Count,
});
export type PackageCondition = Static<typeof PackageCondition>;
