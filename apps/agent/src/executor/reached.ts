import type { PlanAction } from '@tidegate/protocol/plan';
import type { Prepared, Transaction } from './installer.ts';

/** The versions installed of a package, read by this process from the package manager's own database. */
export type InstalledVersions = (action: Pick<PlanAction, 'name' | 'arch'>) => readonly string[];

export interface SplitActions {
  /** What the host has already, exactly: another approval or an operator brought it. */
  reached: readonly PlanAction[];
  rest: readonly PlanAction[];
}

/**
 * Separates the approved actions that the host has reached exactly (name, architecture, version) from the rest
 * (decision 0040). A removal is reached when no version is installed.
 */
export function splitReached(approved: readonly PlanAction[], versionsOf: InstalledVersions): SplitActions {
  const reached: PlanAction[] = [];
  const rest: PlanAction[] = [];
  for (const action of approved) (isReached(action, versionsOf(action)) ? reached : rest).push(action);
  return { reached, rest };
}

function isReached({ action, from_version: from, to_version: to }: PlanAction, versions: readonly string[]) {
  if (action === 'remove') return versions.length === 0;
  // Of a package that may be installed in several versions, the replaced one must be gone as well.
  return to !== undefined && versions.includes(to) && (from === to || !versions.includes(from ?? ''));
}

/** By `name:arch`, for package managers whose database lists every package with one. */
export function versionsByName(
  installed: readonly { name: string; arch: string; version: string }[],
): InstalledVersions {
  const versions = Map.groupBy(installed, keyOf);
  return (action) => (versions.get(keyOf(action)) ?? []).map(({ version }) => version);
}

/** The transaction of an approval of which nothing is left: the package manager is not started. */
export async function nothingLeft<T>(
  reached: readonly PlanAction[],
  work: (transaction: Transaction) => Promise<T>,
): Promise<Prepared<T>> {
  const commit: Transaction['commit'] = async (onOutput) => {
    const output = 'Nothing was left to do: the host had every approved version before this run.\n';
    onOutput?.(Buffer.from(output));
    return { ok: true, installed: installedOf(reached), output };
  };
  return { ok: true, value: await work({ actions: [], reached, commit }) };
}

/** For the output: what this run did not have to do. Null when it did everything. */
export function reachedNote(reached: readonly PlanAction[]): string | null {
  if (reached.length === 0) return null;
  const named = reached.map(({ action, name, to_version: to }) =>
    action === 'remove' ? `${name} (removed)` : `${name} ${to}`,
  );
  return `Done before this run: ${named.join(', ')}`;
}

/** What the host has of these actions once they are carried out. */
export function installedOf(actions: readonly PlanAction[]) {
  return actions.flatMap(({ action, name, arch, to_version: version }) =>
    action === 'remove' || version === undefined
      ? []
      : [{ name, version, ...(arch !== undefined && { arch }) }],
  );
}

function keyOf({ name, arch }: { name: string; arch?: string | undefined }): string {
  return `${name}:${arch ?? ''}`;
}
