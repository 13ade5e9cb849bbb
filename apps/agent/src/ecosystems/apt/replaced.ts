import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import type { HostPaths, ReplacedFetch } from '../ecosystem.ts';
import { isIntact, keptVersion } from '../kept-files.ts';
import { addArtifacts, replacedBy } from './add-artifacts.ts';
import { readArchiveFiles } from './artifacts.ts';
import { fetchActions } from './fetch.ts';
import { openIndexes } from './indexes.ts';
import { findAptPlaces } from './installed.ts';
import type { Parsed } from './parse-transaction.ts';
import { withAptSession } from './session.ts';

/**
 * Downloads the files of the replaced versions, as far as the archives still list exactly the file of `back`, and says
 * what the indexes say of each.
 */
export async function fetchReplaced(
  paths: HostPaths,
  { actions, directory }: { actions: readonly PlanAction[]; directory: string },
): Promise<ReplacedFetch> {
  const listed = await listReplaced(paths, actions);
  if (!listed.ok) return { files: [], reason: listed.reason };
  const fetched = await fetchActions(paths, { actions: listed.value, directory });
  const files = listed.value
    .flatMap((action) => keptVersion('apt', action))
    .filter((file) => isIntact(file, join(directory, file.artifact.filename)));
  return { files, reason: fetched.ok ? null : fetched.reason };
}

/** The replaced versions as actions that would bring them. */
async function listReplaced(paths: HostPaths, actions: readonly PlanAction[]): Promise<Parsed<PlanAction[]>> {
  const places = await findAptPlaces(paths);
  if (!places.ok) return places;
  return withAptSession(paths, async (session) => {
    const indexes = openIndexes(session, places.value);
    const read = await indexes.read(replacedBy(actions));
    if (!read.ok) return read;
    const incoming = actions.flatMap(({ name, arch, from_version: version, back }): PlanAction[] => {
      if (arch === undefined || version === undefined) return [];
      const isListed = indexes.records({ name, arch, version }).some(({ sha256 }) => sha256 === back?.sha256);
      return isListed ? [{ action: 'downgrade', name, arch, to_version: version }] : [];
    });
    const wanted = incoming.flatMap(({ name, arch, to_version: version }) =>
      arch === undefined || version === undefined ? [] : [{ name, arch, version }],
    );
    const files = await readArchiveFiles(session, wanted);
    if (!files.ok) return files;
    const complete = addArtifacts(incoming, files.value, indexes);
    return complete.ok ? { ok: true, value: await indexes.withOriginKeys(complete.value) } : complete;
  });
}
