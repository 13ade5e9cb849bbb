import type { PlanAction } from '@tidegate/protocol/plan';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import type { OutputListener } from '../platform/run-program.ts';
import type { VerifiedApproval } from '../trust/verify-approval.ts';

export type InstallOutcome =
  | { ok: true; installed: { name: string; version: string; arch?: string }[]; output: string }
  /** `plan_drift`: the transaction would not be the approved one; nothing was started. */
  | {
      ok: false;
      reason: 'plan_drift' | 'install_failed';
      detail: string;
      exitCode: number | null;
      output: string;
    };

export type SimulateOutcome =
  | { ok: true; actions: PlanAction[] }
  /** `artifact_unsigned`: the package manager's own signature of a staged file does not hold; else it is drift. */
  | { ok: false; detail: string; reason?: 'artifact_unsigned' };

/** Installs one ecosystem's packages, as root and without network. It takes nothing that was not verified (A4). */
export interface Installer {
  /** The transaction as the package manager would do it now, from the staged artifacts alone. */
  simulate(job: InstallJob): Promise<SimulateOutcome>;
  install(job: InstallJob): Promise<InstallOutcome>;
}

export interface InstallJob {
  paths: HostPaths;
  approval: VerifiedApproval;
  /** Root-only folder that holds exactly the artifacts of the approval, each hashed as a copy. */
  stage: string;
  /** Hears while it installs what will be the output. */
  onOutput?: OutputListener | undefined;
}

/** What is told beside the package manager's own words, to those who listen and in the output. */
export function addNote({ onOutput }: InstallJob, output: string, note: string): string {
  onOutput?.(Buffer.from(note));
  return `${output}${note}`;
}
