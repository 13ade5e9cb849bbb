import type { Installer, InstallJob, InstallOutcome } from '../executor/installer.ts';

/** Installs, and answers what was heard of it while it ran beside what came of it. */
export async function installHearing(
  installer: Installer,
  job: InstallJob,
): Promise<InstallOutcome & { heard: string }> {
  const chunks: Uint8Array[] = [];
  const outcome = await installer.install({ ...job, onOutput: (chunk) => chunks.push(chunk) });
  return { ...outcome, heard: Buffer.concat(chunks).toString() };
}
