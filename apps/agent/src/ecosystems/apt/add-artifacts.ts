import type { PlanAction } from '@tidegate/protocol/plan';
import type { KeptFiles } from '../kept-files.ts';
import { keyOf, type Wanted } from './artifacts.ts';
import type { Indexes } from './indexes.ts';
import type { Parsed } from './parse-transaction.ts';
import { type ArchiveFile, archiveFilename } from './parse-uris.ts';
import { isSafeArgument } from './session.ts';

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

/**
 * Adds the file of each replaced version, as it is kept here or as the signed indexes name it. Two different files of
 * one version are as good as none: nobody knows which is installed.
 */
export function addReplaced(
  actions: readonly PlanAction[],
  { records, kept }: Pick<Indexes, 'records'> & { kept: KeptFiles },
): PlanAction[] {
  return actions.map((action) => {
    const { name, arch, from_version: version } = action;
    if (arch === undefined || version === undefined) return action;
    const own = kept.find({ ecosystem: 'apt', name, arch, version })?.artifact;
    if (own) return { ...action, back: { size_bytes: own.size_bytes, sha256: own.sha256 } };
    const listed = records({ name, arch, version }).filter(({ sha256 }) => sha256 !== '');
    const [record] = listed;
    if (record === undefined || listed.some(({ sha256 }) => sha256 !== record.sha256)) return action;
    return { ...action, back: { size_bytes: record.sizeBytes, sha256: record.sha256 } };
  });
}

/** The versions that actions replace. */
export function replacedBy(actions: readonly PlanAction[]): Wanted[] {
  return actions.flatMap(({ name, arch, from_version: version }) =>
    arch === undefined || version === undefined || !isSafeArgument({ name, arch, version })
      ? []
      : [{ name, arch, version }],
  );
}

/** The versions that actions bring, as `apt-cache` is asked for them. */
export function wantedBy(actions: readonly PlanAction[]): Wanted[] {
  return actions.flatMap(({ action, name, arch, to_version: version }) =>
    action === 'remove' || arch === undefined || version === undefined ? [] : [{ name, arch, version }],
  );
}
