import { join } from 'node:path';
import { isAnyLocked } from '../../platform/find-lock.ts';
import { downloadIdentity } from '../downloads.ts';
import {
  type EcosystemDriver,
  type HostPaths,
  type ListState,
  type PlanTarget,
  type PlanUpdates,
  UNKNOWN_LISTS,
} from '../ecosystem.ts';
import type { HostTrouble } from '../host-trouble.ts';
import { openKept } from '../kept-files.ts';
import { AgesAnswer, parseAnswer } from './answers.ts';
import { fetchActions } from './fetch.ts';
import { judgeMetadata } from './metadata-age.ts';
import { findDnfPlaces, isDnfHost } from './places.ts';
import { createDnfPlanner } from './plan.ts';
import { fetchReplaced } from './replaced.ts';
import { scanDnf } from './scan.ts';
import { withDnfSession } from './session.ts';

/** Red Hat Enterprise Linux, Fedora and their derivatives. */
export const dnfDriver: EcosystemDriver = {
  ecosystem: 'dnf',
  present: isDnfHost,
  scan: scanDnf,
  examineLists,
  findTrouble,
  plan: (paths, request) => withDnfPlanning(paths, request.updates, (plan) => plan(request)),
  withPlanning: withDnfPlanning,
  fetch: fetchActions,
  fetchReplaced,
};

async function examineLists(paths: HostPaths, localMs: number): Promise<ListState> {
  const places = await findDnfPlaces(paths);
  if (!places.ok) return UNKNOWN_LISTS; // the scan reports it
  const identity = await downloadIdentity(null);
  return withDnfSession(places.value, identity, async (session) => {
    const ages = parseAnswer(await session.ask('ages', {}), AgesAnswer);
    return ages.ok ? judgeMetadata(ages.value, localMs) : UNKNOWN_LISTS;
  });
}

async function findTrouble(paths: HostPaths): Promise<HostTrouble | null> {
  const trouble = (await scanDnf(paths)).condition?.trouble ?? null;
  const places = await findDnfPlaces(paths);
  if (trouble !== null || !places.ok) return trouble;
  const lock = join(places.value.database, '.rpm.lock');
  if (!(await isAnyLocked([lock]))) return null;
  return { reason: 'packages_locked', detail: `another program holds rpm's lock; see \`fuser -v ${lock}\`` };
}

async function withDnfPlanning<T>(
  paths: HostPaths,
  upcoming: readonly PlanTarget[],
  work: (plan: PlanUpdates) => Promise<T>,
): Promise<T> {
  const places = await findDnfPlaces(paths);
  if (!places.ok) return work(async () => places);
  const identity = await downloadIdentity(null);
  return withDnfSession(places.value, identity, (session) =>
    work(createDnfPlanner({ session, kept: openKept(paths.kept) }, upcoming)),
  );
}
