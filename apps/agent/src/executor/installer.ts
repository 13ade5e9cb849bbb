import type { PlanAction } from '@tidegate/protocol/plan';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import type { OutputListener } from '../platform/run-program.ts';
import type { VerifiedApproval } from '../trust/verify-approval.ts';

/** Installs one ecosystem's packages, as root and without network. It takes nothing that was not verified (A4). */
export interface Installer {
  /**
   * Simulates the transaction, from the staged artifacts alone, and hands it to `work`. What a commit needs, such as a
   * private folder, lasts until `work` ends.
   */
  prepare<T>(job: InstallJob, work: (transaction: Transaction) => Promise<T>): Promise<Prepared<T>>;
}

/** What the package manager would do now. */
export interface Transaction {
  readonly actions: readonly PlanAction[];
  readonly commit: Commit;
}

/** Does it, at most once, and checks what came of it. `onOutput` hears meanwhile what will be the output. */
export type Commit = (onOutput?: OutputListener) => Promise<InstallOutcome>;

export type Prepared<T> =
  | { ok: true; value: T }
  /** `artifact_unsigned`: the package manager's own signature of a staged file does not hold; else it is drift. */
  | { ok: false; detail: string; reason?: 'artifact_unsigned' };

export type InstallOutcome =
  | { ok: true; installed: { name: string; version: string; arch?: string }[]; output: string }
  /** `plan_drift`: the transaction became another one since it was prepared; nothing was started. */
  | {
      ok: false;
      reason: 'plan_drift' | 'install_failed';
      detail: string;
      exitCode: number | null;
      output: string;
    };

export interface InstallJob {
  paths: HostPaths;
  approval: VerifiedApproval;
  /** Root-only folder that holds exactly the artifacts of the approval, each hashed as a copy. */
  stage: string;
}

/** What is told beside the package manager's own words, to those who listen and in the output. */
export function addNote(onOutput: OutputListener | undefined, output: string, note: string): string {
  onOutput?.(Buffer.from(note));
  return `${output}${note}`;
}
