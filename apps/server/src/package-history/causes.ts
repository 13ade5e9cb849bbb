import type { PackageChange } from '@tidegate/protocol/package-history-api';
import { isSameArch, type PlanAction } from '@tidegate/protocol/plan';
import type { Db } from '../platform/db/engine.ts';
import { takeTurn } from '../platform/turns.ts';
import { readPlan } from '../updates/store.ts';
import type { Difference } from './change-rules.ts';
import {
  type InstallationRow,
  installationsOf,
  type NamedUpdate,
  updatesNamedBy,
} from './installations-store.ts';

export type Cause = Pick<PackageChange, 'cause' | 'command'>;

/** How long after the server last heard of an installation a report of it is awaited: hosts report at least daily. */
export const REPORTED_WITHIN_MS = 86_400_000;
/** Installations that one answer looks through. */
export const INSTALLATIONS_MAX = 100;

/**
 * What each change came of, by its position: the newest installation whose approved plan names the package and what became of it,
 * and of which no earlier change came.
 */
export async function causesOf(
  db: Db,
  {
    agentId,
    changes,
    all,
  }: {
    agentId: string;
    changes: readonly Difference[];
    /** With those of REPORTED_WITHIN_MS before the first. */
    all: readonly Difference[];
  },
): Promise<Map<number, Cause>> {
  const causes = new Map<number, Cause>();
  if (changes.length === 0) return causes;
  const times = changes.map(({ changedAtMs }) => changedAtMs);
  const installations = await installationsOf(db, {
    ...{ agentId, sentUntilMs: times.reduce((a, b) => Math.max(a, b)) },
    heardSinceMs: times.reduce((a, b) => Math.min(a, b)) - REPORTED_WITHIN_MS,
    limit: INSTALLATIONS_MAX + 1,
  });
  const byOutcome = Map.groupBy(all, outcomeOf);
  for (const installation of installations.slice(0, INSTALLATIONS_MAX)) {
    const open = changes.filter(
      (change) =>
        !causes.has(change.position) &&
        isInTime(change, installation) &&
        !(byOutcome.get(outcomeOf(change)) ?? []).some(
          ({ changedAtMs }) => changedAtMs < change.changedAtMs && changedAtMs >= installation.sent_at,
        ),
    );
    if (open.length === 0 || installation.plan_id === null) continue;
    await takeTurn();
    const plan = await readPlan(db, installation.plan_id);
    const updates = await updatesNamedBy(db, installation.id);
    const actions = Map.groupBy(plan?.actions ?? [], ({ name }) => name);
    for (const change of open) {
      if (updates[0]?.ecosystem !== change.ecosystem) continue;
      const isOfPlan = actions.get(change.name)?.some((action) => isActionOf(action, change, byOutcome));
      if (!isOfPlan) continue;
      causes.set(change.position, { cause: 'tidegate', command: commandOf(installation, updates, change) });
    }
  }
  const rest = installations.length > INSTALLATIONS_MAX ? 'unknown' : 'outside';
  for (const { position } of changes) {
    if (!causes.has(position)) causes.set(position, { cause: rest, command: null });
  }
  return causes;
}

function outcomeOf({
  ecosystem,
  name,
  arch,
  to,
}: Pick<Difference, 'ecosystem' | 'name' | 'arch' | 'to'>): string {
  return JSON.stringify([ecosystem, name, arch, to]);
}

function isInTime({ changedAtMs }: Difference, { sent_at: sentAt, heard_at: heardAt }: InstallationRow) {
  return sentAt <= changedAtMs && changedAtMs <= (heardAt ?? sentAt) + REPORTED_WITHIN_MS;
}

/** A plan without an architecture matches any, as in a scan. */
function isActionOf(
  action: PlanAction,
  change: Difference,
  byOutcome: ReadonlyMap<string, readonly Difference[]>,
): boolean {
  const { arch = '', from_version: from, to_version: to } = action;
  if (change.kind !== 'removed') {
    const isHere = arch === '' || arch === change.arch;
    return isHere && (change.kind === 'installed' || change.kind === 'changed') && to === change.to;
  }
  if (!isSameArch(arch, change.arch)) return false;
  if (action.action === 'remove') return from === undefined || from === change.from;
  // Replaced under another architecture, or beside other versions: the same report has what came instead.
  const successors = byOutcome.get(outcomeOf({ ...change, arch: arch || change.arch, to: to ?? null }));
  return from === change.from && to !== undefined && isReportedWith(change, successors);
}

function isReportedWith({ changedAtMs }: Difference, others: readonly Difference[] = []): boolean {
  return others.some((other) => other.changedAtMs === changedAtMs);
}

function commandOf(
  { id, approved_by, policy_id }: InstallationRow,
  updates: readonly NamedUpdate[],
  change: Difference,
): PackageChange['command'] {
  const own = updates.find(({ name, arch, available_version: version }) => {
    return name === change.name && (arch === change.arch || arch === '') && version === change.to;
  });
  return { id, update_id: (own ?? updates[0])?.id ?? null, approved_by, policy_id };
}
