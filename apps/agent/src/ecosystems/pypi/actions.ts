import type { PlanAction } from '@tidegate/protocol/plan';
import { compareVersions } from '@tidegate/versions';
import type { Distribution } from './installed.ts';
import type { PypiPlace } from './places.ts';
import type { Parsed } from './read-file.ts';

/**
 * Translates pip's report into sorted plan actions, without artifacts. Fails when pip would replace a package
 * that it must not.
 */
export function toActions(
  wheels: readonly { name: string; version: string }[],
  installed: readonly Distribution[],
  { path }: PypiPlace,
): Parsed<PlanAction[]> {
  const actions: PlanAction[] = [];
  for (const { name, version } of wheels) {
    const before = installed.find((distribution) => distribution.name === name);
    if (before === undefined) {
      actions.push({ action: 'install', name, arch: path, to_version: version });
      continue;
    }
    const fixed = findWhyFixed(before);
    if (fixed !== null) return { ok: false, reason: fixed };
    const order = compareVersions('pypi', before.version, version);
    if (order === 'undecidable' || order === 0) {
      return { ok: false, reason: `${name}: ${before.version} and ${version} cannot be ordered` };
    }
    const action = order === 1 ? ('downgrade' as const) : ('upgrade' as const);
    actions.push({ action, name, arch: path, from_version: before.version, to_version: version });
  }
  return { ok: true, value: actions.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)) };
}

/** Why a distribution must stay; null when pip may replace it. */
export function findWhyFixed({ name, source, pinned }: Distribution): string | null {
  if (pinned) return `${name} is pinned by pipx`;
  if (source === 'direct') return `${name} was installed from a URL or a folder, not from an index`;
  if (source === 'old_format')
    return `${name} was installed without the RECORD file that pip needs to replace it`;
  return null;
}
