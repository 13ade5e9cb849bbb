import type { PlanAction } from '@tidegate/protocol/plan';
import { compareVersions } from '@tidegate/versions';
import type { AptPlaces, InstalledPackage } from './installed.ts';
import type { Change, Parsed, Removal, Transaction } from './parse-transaction.ts';

/** Longest origin allowed by the schema, in characters. */
const ORIGIN_MAX_CHARS = 512;

/**
 * Translates a transaction into the sorted actions of a plan, without artifacts. Planning and the executor's
 * simulation share it, so they differ only where apt does.
 */
export function toActions(
  transaction: Transaction,
  installed: readonly InstalledPackage[],
  { nativeArch }: Pick<AptPlaces, 'nativeArch'>,
): Parsed<PlanAction[]> {
  const actions: PlanAction[] = [];
  for (const change of transaction.changes) {
    const kind = kindOf(change);
    if (kind === null) {
      return { ok: false, reason: `${change.name}: ${change.from} and ${change.to} cannot be ordered` };
    }
    actions.push({
      action: kind,
      name: change.name,
      arch: change.arch,
      ...(change.from !== null && { from_version: change.from }),
      to_version: change.to,
      ...(change.origin !== '' && { origin: change.origin.slice(0, ORIGIN_MAX_CHARS) }),
    });
  }
  for (const removal of transaction.removals) {
    const found = findRemoved(removal, installed, nativeArch);
    if (found === null) return { ok: false, reason: `apt removes ${removal.name}, which is not installed` };
    if (found.essential) return { ok: false, reason: `apt would remove ${found.name}, which is essential` };
    actions.push({ action: 'remove', name: found.name, arch: found.arch, from_version: found.version });
  }
  return { ok: true, value: actions.sort(byNameAndArch) };
}

function kindOf({ from, to }: Change): 'install' | 'upgrade' | 'downgrade' | null {
  if (from === null) return 'install';
  const order = compareVersions('apt', from, to);
  if (order === 'undecidable') return null;
  return order === 1 ? 'downgrade' : 'upgrade';
}

/** A removal without an architecture means the host's own or `all`; the database says which. */
function findRemoved(removal: Removal, installed: readonly InstalledPackage[], nativeArch: string) {
  const archs = removal.arch === null ? [nativeArch, 'all'] : [removal.arch];
  const same = installed.filter(({ name, version }) => name === removal.name && version === removal.from);
  return same.find(({ arch }) => archs.includes(arch)) ?? null;
}

function byNameAndArch(a: PlanAction, b: PlanAction): number {
  const [left, right] = [`${a.name}:${a.arch}`, `${b.name}:${b.arch}`];
  return left < right ? -1 : left > right ? 1 : 0;
}
