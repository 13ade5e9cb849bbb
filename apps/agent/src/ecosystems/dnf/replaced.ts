import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import { downloadIdentity } from '../downloads.ts';
import type { HostPaths, ReplacedFetch } from '../ecosystem.ts';
import { isIntact, keptVersion } from '../kept-files.ts';
import { addArtifacts } from './actions.ts';
import { LookUpAnswer, parseAnswer } from './answers.ts';
import { fetchActions } from './fetch.ts';
import { evrOf, isSafeArgument } from './names-rules.ts';
import { findDnfPlaces, type Parsed } from './places.ts';
import { withDnfSession } from './session.ts';

/**
 * Downloads the files of the replaced versions, as far as the repositories still have exactly the file of `back`, and
 * says what their metadata say of each.
 */
export async function fetchReplaced(
  paths: HostPaths,
  { actions, directory }: { actions: readonly PlanAction[]; directory: string },
): Promise<ReplacedFetch> {
  const listed = await listReplaced(paths, actions);
  if (!listed.ok) return { files: [], reason: listed.reason };
  const fetched = await fetchActions(paths, { actions: listed.value, directory });
  const files = listed.value
    .flatMap((action) => keptVersion('dnf', action))
    .filter((file) => isIntact(file, join(directory, file.artifact.filename)));
  return { files, reason: fetched.ok ? null : fetched.reason };
}

/** The replaced versions as actions that would bring them. */
async function listReplaced(paths: HostPaths, actions: readonly PlanAction[]): Promise<Parsed<PlanAction[]>> {
  const places = await findDnfPlaces(paths);
  if (!places.ok) return places;
  const wanted = actions.flatMap(({ name, arch, from_version: evr, back }) =>
    arch === undefined || evr === undefined || back === undefined || !isSafeArgument({ name, evr, arch })
      ? []
      : [{ name, arch, evr, back }],
  );
  const identity = await downloadIdentity(null);
  const packages = wanted.map(({ back: _, ...one }) => one);
  const answer = await withDnfSession(places.value, identity, async (session) =>
    parseAnswer(await session.ask('look_up', { packages }), LookUpAnswer),
  );
  if (!answer.ok) return answer;
  const found = wanted.flatMap(({ name, arch, evr, back }) => {
    const pkg = answer.value.found.find(
      (one) => one.name === name && one.arch === arch && evrOf(one) === evr && one.checksum === back.sha256,
    );
    return pkg === undefined ? [] : [pkg];
  });
  const incoming = found.map((pkg): PlanAction => {
    return { action: 'downgrade', name: pkg.name, arch: pkg.arch, to_version: evrOf(pkg) };
  });
  return addArtifacts(incoming, found);
}
