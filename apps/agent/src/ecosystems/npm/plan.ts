import { bundleFaults } from '@tidegate/protocol/bundles';
import { Plan, planFaults } from '@tidegate/protocol/plan';
import { Check } from 'typebox/value';
import type { PlanOutcome, PlanTarget } from '../ecosystem.ts';
import { toActions } from './actions.ts';
import { addArtifacts } from './artifacts.ts';
import { type NpmPlace, placePathOf } from './locations.ts';
import { resolveWish } from './resolve.ts';
import { isSafeArgument, type NpmSession } from './session.ts';

/**
 * Resolves the update of one package at one place: everything installed, upgraded, downgraded or removed with it,
 * and the hash of every file. Changes nothing and runs no package scripts.
 */
export async function planTarget(
  session: NpmSession,
  places: readonly NpmPlace[],
  target: PlanTarget,
  resolvedAt: Date,
): Promise<PlanOutcome> {
  const wish = { name: target.name, version: target.toVersion };
  if (!isSafeArgument(wish)) return { ok: false, reason: 'npm does not accept this name or version' };
  const place = findPlace(places, target.arch);
  if (place === null)
    return { ok: false, reason: `${target.arch ?? 'no place'} is not an npm location of this host` };
  const resolved = await resolveWish(session, place, wish);
  if (!resolved.ok) return resolved;
  const bare = toActions(place, resolved.value);
  if (!bare.ok) return bare;
  const reaches = bare.value.some(
    ({ action: { name, arch, to_version: to } }) =>
      name === wish.name && arch === place.path && to === wish.version,
  );
  if (!reaches) return { ok: false, reason: `npm does not update ${wish.name} to ${wish.version}` };
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
