import type { PlanAction } from '@tidegate/protocol/plan';
import type { RollbackAction } from '@tidegate/protocol/rollbacks';
import type { PlanTarget } from './ecosystem.ts';
import type { Kept } from './kept-files.ts';

/** Differences that a reason names. */
const NAMED_MAX = 5;

interface Installed {
  name: string;
  arch: string;
  version: string;
}

/** Why nothing is left to plan for one of the updates; null where each has its action. */
export function findDone(updates: readonly PlanTarget[], rest: readonly RollbackAction[]): string | null {
  const done = updates.find(
    ({ name, toVersion }) => !rest.some((action) => action.name === name && action.to_version === toVersion),
  );
  return done === undefined ? null : `${done.name} ${done.toVersion} is there already`;
}

/** Whether the host has already what an action of a rollback brings. Of packages that stand side by side the new one is gone. */
export function isUndone(action: RollbackAction, installed: readonly Installed[]): boolean {
  const own = installed.filter((pkg) => isOf(action, pkg));
  if (action.action === 'remove') return own.length === 0;
  return own.some(({ version }) => version === action.to_version) && !own.some(isReplacedBy(action));
}

function isReplacedBy({ from_version: from, to_version: to }: RollbackAction) {
  return ({ version }: Installed) => version === from && from !== to;
}

export function isOf({ name, arch }: RollbackAction, pkg: Pick<Installed, 'name' | 'arch'>): boolean {
  return pkg.name === name && pkg.arch === arch;
}

/**
 * What a package manager would do beside a rollback, or would not do of it, as a sentence; null where it does exactly that.
 * `manager` is its name in the sentence.
 */
export function differenceOf(
  rest: readonly RollbackAction[],
  actions: readonly PlanAction[],
  manager: string,
): string | null {
  const asked = new Set(rest.map(textOf));
  const answered = new Set(actions.map(textOf));
  const more = [...answered].filter((text) => !asked.has(text));
  const less = [...asked].filter((text) => !answered.has(text));
  if (more.length > 0) return `the rollback would do more than undo the installation: ${namedOf(more)}`;
  if (less.length === 0) return null;
  return `the host has changed since the installation: ${manager} does not ${namedOf(less)}`;
}

function textOf({ action, name, arch, from_version: from, to_version: to }: RollbackAction): string {
  const versions = [from && ` from ${from}`, to && ` to ${to}`].filter((text) => text !== undefined);
  return `${action} ${name}:${arch ?? ''}${versions.join('')}`;
}

/** The first of a list, and how many more there are. */
export function namedOf(texts: readonly string[]): string {
  const more = texts.length > NAMED_MAX ? `, and ${texts.length - NAMED_MAX} more` : '';
  return `${texts.slice(0, NAMED_MAX).join(', ')}${more}`;
}

/** Why there is no plan where files cannot be had. `sources` is where else they were looked for. */
export function noWayBack(lost: readonly { name: string; version: string }[], sources: string): string {
  const names = lost.map(({ name, version }) => `${name} ${version}`);
  return `no way back: neither this host nor ${sources} the file of ${namedOf(names)}`;
}

/** What the index said about the file when it was kept. */
export function withKept({ origin: _, ...action }: PlanAction, file: Kept): PlanAction {
  const { source_name, source_version, origin, origin_key, artifact } = file;
  return {
    ...action,
    ...(source_name !== undefined && { source_name }),
    ...(source_version !== undefined && { source_version }),
    ...(origin !== undefined && { origin }),
    ...(origin_key !== undefined && { origin_key }),
    artifact,
  };
}
