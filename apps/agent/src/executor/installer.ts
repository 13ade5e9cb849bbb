import type { HostTroubleReason } from '@tidegate/protocol/package-condition';
import type { PlanAction } from '@tidegate/protocol/plan';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import type { OutputListener } from '../platform/run-program.ts';
import type { VerifiedApproval } from '../trust/verify-approval.ts';

/** Installs one ecosystem's packages, as root and without network, from a verified approval alone (A4). */
export interface Installer {
  /**
   * Simulates the transaction from the staged artifacts alone and passes it to `work`. Resources of the commit,
   * such as a private folder, last until `work` ends.
   */
  prepare<T>(job: InstallJob, work: (transaction: Transaction) => Promise<T>): Promise<Prepared<T>>;
}

/** The actions the package manager would take now. */
export interface Transaction {
  readonly actions: readonly PlanAction[];
  /** The approved actions that the package manager's database already shows as done. */
  readonly reached: readonly PlanAction[];
  readonly commit: Commit;
}

/** Installs, at most once, and checks the outcome. `onOutput` receives the output as it is written. */
export type Commit = (onOutput?: OutputListener) => Promise<InstallOutcome>;

/**
 * `artifact_unsigned`: a staged file's package manager signature is invalid. `package_held`: the host was told to
 * keep a package as it is. A trouble of the host must be mended first. The others are about the agent itself: its release
 * is not what the release key signed, the version has failed here, or this host cannot switch versions.
 */
export type PrepareRefusal =
  | 'artifact_unsigned'
  | 'package_held'
  | 'release_refused'
  | 'agent_failed_before'
  | 'unsupported_host'
  | HostTroubleReason;

/** Without a reason it is drift. */
export type Prepared<T> = { ok: true; value: T } | { ok: false; detail: string; reason?: PrepareRefusal };

export type InstallOutcome =
  | { ok: true; installed: InstalledVersion[]; output: string }
  /** Every reason but `install_failed`: the host has changed since it was prepared; nothing was started. */
  | {
      ok: false;
      reason: 'plan_drift' | 'install_failed' | HostTroubleReason;
      /** What is installed as approved nevertheless. */
      installed?: InstalledVersion[];
      detail: string;
      exitCode: number | null;
      output: string;
    };

export interface InstalledVersion {
  name: string;
  version: string;
  arch?: string;
}

export interface InstallJob {
  paths: HostPaths;
  approval: VerifiedApproval;
  /** Root-only folder that holds exactly the artifacts of the approval, each hashed as a copy. */
  stage: string;
}

/** Notes added to the package manager's output, live and in the result. */
export function addNote(onOutput: OutputListener | undefined, output: string, note: string): string {
  onOutput?.(Buffer.from(note));
  return `${output}${note}`;
}
