import type { HostTroubleReason } from '@tidegate/protocol/package-condition';
import type { Repair } from '@tidegate/protocol/repairs';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import type { OutputListener } from '../platform/run-program.ts';
import type { InstalledVersion } from './installer.ts';

/** Finishes packages that are installed or configured by half, as root and without network. */
export interface Repairer {
  /** Compares the host with what was signed; nothing is started. */
  prepare(paths: HostPaths, repair: Repair): Promise<PreparedRepair>;
}

/**
 * `repair_differs`: more would run on the host than was signed, or something else. `unsupported_ecosystem`: the host
 * has no dpkg. A trouble of the host must be waited for first.
 */
export type RepairRefusal = 'repair_differs' | 'unsupported_ecosystem' | HostTroubleReason;

export type PreparedRepair =
  | { ok: true; commit: (onOutput?: OutputListener) => Promise<RepairOutcome> }
  | { ok: false; reason: RepairRefusal; detail: string };

/** `installed`: the signed packages that are complete now. */
export type RepairOutcome =
  | { ok: true; installed: InstalledVersion[]; output: string }
  | {
      ok: false;
      reason: 'repair_failed' | HostTroubleReason;
      installed: InstalledVersion[];
      detail: string;
      exitCode: number | null;
      output: string;
    };
