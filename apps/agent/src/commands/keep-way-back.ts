import { mkdtempSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CommandResult } from '@tidegate/protocol/agent-api';
import type { ApprovalPayload } from '@tidegate/protocol/documents';
import type { PlanAction } from '@tidegate/protocol/plan';
import type { EcosystemDriver, HostPaths } from '../ecosystems/ecosystem.ts';
import { sha256OfFile } from '../ecosystems/judge-artifact.ts';
import { type KeptVersion, keepFiles, keptVersion, openKept } from '../ecosystems/kept-files.ts';
import { errorCode } from '../platform/file-layer.ts';
import type { Log } from '../platform/log.ts';

interface Means {
  drivers: readonly EcosystemDriver[];
  paths: HostPaths;
  log: Log;
  nowMs: () => number;
}

/**
 * Keeps the files of what an approved installation replaces, and those that it brings: after the next update they are
 * what is replaced, and an archive may not have them any more. The installation goes on whatever comes of it. Returns
 * null where there is no way back to keep.
 */
export async function keepWayBack(
  means: Means,
  { ecosystem, actions }: Pick<ApprovalPayload, 'ecosystem' | 'actions'>,
  artifacts: string,
): Promise<NonNullable<CommandResult['way_back']> | null> {
  const { drivers, paths, log } = means;
  const driver = drivers.find((one) => one.ecosystem === ecosystem);
  const { kept: folder } = paths;
  if (driver === undefined || folder === null) return null;
  try {
    const reason = await keep(means, { driver, folder, actions, artifacts });
    if (reason !== null) log.warn('the way back of an installation is incomplete', { ecosystem, reason });
  } catch (error) {
    // A full or broken disk: the installation does not depend on the way back.
    log.warn('the way back of an installation cannot be kept', { ecosystem, reason: errorCode(error) });
  }
  const replaced = actions.filter(({ from_version: from }) => from !== undefined);
  const lacking = lackingOf(paths, ecosystem, replaced);
  const withBack = replaced.filter(({ back }) => back !== undefined);
  return { kept: withBack.length - lacking.length, replaced: replaced.length };
}

async function keep(
  { paths, nowMs }: Means,
  job: { driver: EcosystemDriver; folder: string; actions: readonly PlanAction[]; artifacts: string },
): Promise<string | null> {
  const { driver, folder, actions, artifacts } = job;
  // In the folder of the job, which goes with it: the user that downloads cannot enter the agent's own.
  const directory = mkdtempSync(join(dirname(artifacts), 'replaced-'));
  try {
    const lacking = lackingOf(paths, driver.ecosystem, actions);
    const fetched =
      lacking.length === 0
        ? { files: [], reason: null }
        : await driver.fetchReplaced(paths, { actions: lacking, directory });
    const at = (from: string) => (version: KeptVersion) => ({
      version,
      path: join(from, version.artifact.filename),
    });
    const brought = actions.flatMap((action) => keptVersion(driver.ecosystem, withSha256(action, artifacts)));
    const files = [...fetched.files.map(at(directory)), ...brought.map(at(artifacts))];
    const needed = new Set(actions.flatMap(({ back }) => back?.sha256 ?? []));
    const fault = keepFiles(folder, files, { nowMs: nowMs(), needed });
    return fetched.reason ?? fault;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** npm binds its files by SHA-512; the store has them by SHA-256. */
function withSha256(action: PlanAction, artifacts: string): PlanAction {
  const { artifact } = action;
  if (artifact === undefined || artifact.sha256 !== undefined) return action;
  const file = sha256OfFile(join(artifacts, artifact.filename));
  return file === null ? action : { ...action, artifact: { ...artifact, sha256: file.sha256 } };
}

/** The actions whose replaced file has a hash, and is not kept. */
function lackingOf(
  paths: HostPaths,
  ecosystem: ApprovalPayload['ecosystem'],
  actions: readonly PlanAction[],
): PlanAction[] {
  const kept = openKept(paths.kept);
  return actions.filter(({ name, arch, from_version: version, back }) => {
    if (back === undefined || arch === undefined || version === undefined) return false;
    return kept.find({ ecosystem, name, arch, version, sha256: back.sha256 }) === null;
  });
}
