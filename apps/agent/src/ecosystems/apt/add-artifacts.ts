import type { PlanAction } from '@tidegate/protocol/plan';
import { keyOf, type Wanted } from './artifacts.ts';
import type { Indexes } from './indexes.ts';
import type { Parsed } from './parse-transaction.ts';
import { type ArchiveFile, archiveFilename } from './parse-uris.ts';

/** Adds source, origin and artifact to every action that has a file; both indexes of apt must agree on each. */
export function addArtifacts(
  actions: readonly PlanAction[],
  files: ReadonlyMap<string, ArchiveFile>,
  indexes: Pick<Indexes, 'records' | 'origin'>,
): Parsed<PlanAction[]> {
  const complete: PlanAction[] = [];
  for (const action of actions) {
    const { name, arch = '', to_version: version = '' } = action;
    if (action.action === 'remove') {
      complete.push(action);
      continue;
    }
    const file = files.get(keyOf({ name, arch, version }));
    const record = indexes.records({ name, arch, version }).find(({ sha256 }) => sha256 === file?.sha256);
    if (!file || !record || record.sizeBytes !== file.sizeBytes || file.filename !== archiveFilename(file)) {
      return { ok: false, reason: `the indexes of apt disagree about ${name} ${version}` };
    }
    const origin = indexes.origin({ name, arch, version });
    complete.push({
      ...action,
      ...(origin !== '' && { origin }),
      source_name: record.sourceName,
      source_version: record.sourceVersion,
      artifact: { filename: file.filename, url: file.url, size_bytes: file.sizeBytes, sha256: file.sha256 },
    });
  }
  return { ok: true, value: complete };
}

/** The versions that actions bring, as `apt-cache` is asked for them. */
export function wantedBy(actions: readonly PlanAction[]): Wanted[] {
  return actions.flatMap(({ action, name, arch, to_version: version }) =>
    action === 'remove' || arch === undefined || version === undefined ? [] : [{ name, arch, version }],
  );
}
