import { bundleFaults } from '@tidegate/protocol/bundles';
import { missedTargets, Plan, planFaults } from '@tidegate/protocol/plan';
import { Check } from 'typebox/value';
import { onePlaceOf, type PlanOutcome, type PlanRequest, type PlanTarget } from '../ecosystem.ts';
import { toActions } from './actions.ts';
import { addArtifacts } from './artifacts.ts';
import { type NpmPlace, placePathOf } from './locations.ts';
import { resolveWishes } from './resolve.ts';
import { isSafeArgument, type NpmSession } from './session.ts';

/**
 * Resolves updates of one place as one transaction: everything installed, upgraded, downgraded or removed with them,
 * and the hash of every file. Changes nothing and runs no package scripts.
 */
export async function planUpdates(
  session: NpmSession,
  places: readonly NpmPlace[],
  request: PlanRequest,
  resolvedAt: Date,
): Promise<PlanOutcome> {
  const path = onePlaceOf(request);
  if (!path.ok) return path;
  const wishes = request.updates.map(({ name, toVersion: version }) => ({ name, version }));
  if (!wishes.every(isSafeArgument)) return { ok: false, reason: 'npm does not accept this name or version' };
  const place = findPlace(places, path.value);
  if (place === null) return { ok: false, reason: `${path.value} is not an npm location of this host` };
  const resolved = await resolveWishes(session, place, wishes);
  if (!resolved.ok) {
    const { reason, conflicting = [] } = resolved;
    const isNamed = ({ name }: PlanTarget) => conflicting.some((wish) => wish.name === name);
    return { ok: false, reason, conflicting: request.updates.filter(isNamed) };
  }
  const bare = toActions(place, resolved.value);
  if (!bare.ok) return bare;
  const unreached = missedTargets(
    { actions: bare.value.map(({ action }) => action) },
    request.updates.map(({ name, toVersion: to_version }) => ({ name, arch: place.path, to_version })),
  );
  if (unreached.length > 0) {
    const names = unreached.map(({ name, to_version: to }) => `${name} to ${to}`).join(', ');
    const isNamed = ({ name }: PlanTarget) => unreached.some((target) => target.name === name);
    return {
      ok: false,
      reason: `npm does not update ${names}`,
      conflicting: request.updates.filter(isNamed),
    };
  }
  const actions = await addArtifacts(session, bare.value);
  if (!actions.ok) return actions;
  const plan = { resolved_at: resolvedAt.toISOString(), actions: actions.value };
  const [fault] = [...planFaults(plan), ...bundleFaults({ ecosystem: 'npm', ...plan })];
  if (fault) return { ok: false, reason: `the plan is unsound at ${fault.path}: ${fault.message}` };
  if (!Check(Plan, plan)) return { ok: false, reason: 'the plan exceeds the limits of the protocol' };
  return { ok: true, plan };
}

/** Only top-level packages of a place are updated on their own. */
export function findPlace(places: readonly NpmPlace[], arch: string | undefined): NpmPlace | null {
  if (arch === undefined || placePathOf(arch) !== arch) return null;
  return places.find(({ path }) => path === arch) ?? null;
}
