import { type Static, Type } from 'typebox';
import { Count, nullable, PackageName, PackageVersion, ReportedLine, strict, Timestamp } from './scalars.ts';

/** Unknown is a value of its own: it is never shown or counted as "not needed". */
export const RESTART_NEEDS = ['needed', 'not_needed', 'unknown'] as const;
export const RestartNeed = Type.Enum(RESTART_NEEDS);
export type RestartNeed = Static<typeof RestartNeed>;

/** Most services that one report names; `more_services` counts the others. */
export const STALE_SERVICES_MAX = 64;
/** Most files that one service names; `more_files` counts the others. */
export const STALE_FILES_MAX = 8;

/** Why a reboot is needed, or what was found without needing one. */
export const REBOOT_EVIDENCE = [
  'newer_kernel',
  'pinned_kernel',
  'reboot_required_file',
  'empty_reboot_required_file',
  'package_manager',
  'core_service',
  'container',
] as const;

/** A file that was replaced or removed while the service still maps its old content. */
export const StaleFile = strict({
  path: ReportedLine,
  package: Type.Optional(PackageName),
});
export type StaleFile = Static<typeof StaleFile>;

/**
 * A service whose processes map replaced files. `core`: restarting it by itself would take the host down, so a reboot is
 * the way; `session`: processes of a logged-in user; `other`: processes outside any service, by the name of one.
 */
export const StaleService = strict({
  name: ReportedLine,
  kind: Type.Enum(['service', 'core', 'session', 'other']),
  processes: Count,
  files: Type.Array(StaleFile, { minItems: 1, maxItems: STALE_FILES_MAX }),
  more_files: Count,
});
export type StaleService = Static<typeof StaleService>;

export const KernelSeen = strict({
  release: ReportedLine,
  version: Type.Optional(PackageVersion),
  package: Type.Optional(PackageName),
});
export type KernelSeen = Static<typeof KernelSeen>;

/** Whether services and the host run old code, with the evidence. */
export const RestartReport = strict({
  observed_at: Timestamp,
  boot_id: Type.String({ minLength: 1, maxLength: 64 }),
  services: strict({
    need: RestartNeed,
    /** Why it is unknown. */
    reason: Type.Optional(ReportedLine),
    stale: Type.Array(StaleService, { maxItems: STALE_SERVICES_MAX }),
    more_services: Count,
  }),
  reboot: strict({
    need: RestartNeed,
    /** Why it is unknown. */
    reason: Type.Optional(ReportedLine),
    evidence: Type.Array(Type.Enum(REBOOT_EVIDENCE), { maxItems: REBOOT_EVIDENCE.length, uniqueItems: true }),
    running_kernel: Type.Optional(KernelSeen),
    /** The kernel that the next boot would start. */
    next_kernel: Type.Optional(KernelSeen),
    /** Packages that asked for a reboot. */
    packages: Type.Array(PackageName, { maxItems: 50 }),
    /** A live patch delays a reboot and never makes it unneeded. */
    livepatch: Type.Enum(['active', 'inactive', 'unknown']),
  }),
});
export type RestartReport = Static<typeof RestartReport>;

/** Largest body of a report, in bytes; the agent cuts its evidence to fit. */
export const RESTART_REPORT_MAX_BYTES = 128 * 1024;

/** The newest report of a host's present boot; null before it arrives. */
export const HostRestarts = Type.Object({
  report: nullable(RestartReport),
  received_at: nullable(Timestamp),
});
export type HostRestarts = Static<typeof HostRestarts>;
