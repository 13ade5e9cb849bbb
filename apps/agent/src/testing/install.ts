import { withApprovedTransaction } from '../executor/approved-transaction.ts';
import type { Installer, InstallJob } from '../executor/installer.ts';
import type { OutputListener } from '../platform/run-program.ts';

/** The transaction as the package manager would do it now; it is not committed. */
export async function simulate(installer: Installer, job: InstallJob) {
  const prepared = await installer.prepare(job, async ({ actions }) => actions);
  return prepared.ok ? ({ ok: true, actions: prepared.value } as const) : prepared;
}

/** Installs what is exactly as approved, by the comparison that the executor makes. */
export async function install(installer: Installer, job: InstallJob, onOutput?: OutputListener) {
  const done = await withApprovedTransaction(installer, job, (commit) => commit(onOutput));
  return done.ok ? done.value : { ...done, exitCode: null, output: '' };
}

/** The same, with what was heard while it ran. */
export async function installHearing(installer: Installer, job: InstallJob) {
  const chunks: Uint8Array[] = [];
  const outcome = await install(installer, job, (chunk) => chunks.push(chunk));
  return { ...outcome, heard: Buffer.concat(chunks).toString() };
}
