import { Ecosystem } from '@tidegate/protocol/scalars';
import { compareVersions } from '@tidegate/versions';
import { Value } from 'typebox/value';
import { isFresh } from '../advisories/freshness.ts';
import { readChecks } from '../advisories/store.ts';
import { distinctSubjects, type Subject, subjectKey, subjectsOf } from '../advisories/subjects.ts';
import type { AdvisoryWorker } from '../advisories/worker.ts';
import { lockAgent } from '../agents/store.ts';
import { queueCommand } from '../commands/queue-command.ts';
import type { Config } from '../config.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { Platform } from '../platform/platform.ts';
import { type BackgroundWork, repeat } from '../platform/repeat.ts';
import { takeTurn } from '../platform/turns.ts';
import { listCandidates, type StoredCandidates, setFix } from '../updates/candidates-store.ts';
import { offerFix } from '../updates/offer-fix.ts';
import { recommendOffers, recommendVersions } from '../updates/recommend-offers.ts';
import { type Known, type SmallestFix, smallestFix } from '../updates/smallest-fix-rules.ts';
import type { UpdateRow } from '../updates/store.ts';

export interface FixDeps {
  readonly platform: Platform;
  readonly config: Pick<Config, 'advisoryMaxAgeHours' | 'maxChange'>;
  readonly worker: Pick<AdvisoryWorker, 'judgeInBackground'>;
}

/** The longest time between two ticks, in milliseconds. */
const TICK_MAX_MS = 30_000;
/** Between looking up every package again, in milliseconds; other ticks take those that a scan has changed. */
const FULL_PASS_EVERY_MS = 3_600_000;
/** Packages looked up together, each with up to 64 versions. */
const PAGE_PACKAGES = 50;
const WAIT_MS = 60_000;
/** Vulnerable packages of one host whose versions one pass looks up; the rest gets no smallest fix. */
const PACKAGES_A_HOST = 500;
/** Packages that are looked up again before the next full pass because something was not known of them. */
const UNKNOWN_MAX = 1_000;
/** Plans that one pass asks of a host; of more fixes the plan is made when one is approved. */
const PLANS_A_HOST = 32;

/** Finds the smallest fixes of npm and PyPI packages, at lower priority than any waiting request. */
export function createFixFinder(deps: FixDeps, every: { intervalMs: number }): BackgroundWork {
  const intervalMs = Math.min(every.intervalMs, TICK_MAX_MS);
  const passes = createFixPasses(deps, { intervalMs });
  return repeat({
    intervalMs,
    async run(isStopped) {
      try {
        await passes.next(isStopped);
      } catch (error) {
        // The next tick tries again: an unavailable database must not end the process.
        if (!isStopped()) deps.platform.log.error('smallest fixes were not found', { error: String(error) });
      }
    },
  });
}

/**
 * The passes of one process: every FULL_PASS_EVERY_MS over all packages, in between over new ones and those of which
 * something was not known, after waits that double.
 */
export function createFixPasses(
  deps: FixDeps,
  { intervalMs }: { intervalMs: number },
): { next(isStopped?: () => boolean): Promise<void> } {
  const ticksToFullPass = Math.ceil(FULL_PASS_EVERY_MS / intervalMs);
  let ticks = 0;
  let postponed: readonly Postponed[] = [];
  return {
    async next(isStopped = () => false) {
      const isFull = ticks % ticksToFullPass === 0;
      // SERVICE_MAX_CHANGE may have changed since the server ran last.
      if (ticks === 0) await recommendFleet(deps, isStopped);
      const unknown = await offerFixes(deps, { onlyNew: !isFull }, isStopped);
      const still = isFull ? [] : await lookUpAgain(deps, postponed, isStopped);
      postponed = [...unknown.map((of) => ({ of, ticks: 1, left: 1 })), ...still].slice(0, UNKNOWN_MAX);
      ticks += 1;
    },
  };
}

/** A package that was not known when it was looked up, to be looked up again in `left` ticks. */
interface Postponed {
  readonly of: StoredCandidates;
  /** The last wait; the next one is twice as long. */
  readonly ticks: number;
  readonly left: number;
}

/** Looks up what is due. What is known then is dropped: a full pass finds it again. */
async function lookUpAgain(
  deps: FixDeps,
  postponed: readonly Postponed[],
  isStopped: () => boolean,
): Promise<Postponed[]> {
  const nearer = postponed.map((one) => ({ ...one, left: one.left - 1 }));
  const due = nearer.filter(({ left }) => left === 0);
  const turn = newTurn();
  const unknown = new Set<StoredCandidates>();
  for (const page of chunks(due, PAGE_PACKAGES)) {
    if (isStopped()) break;
    const found = await lookUp(
      deps,
      page.map(({ of }) => of),
      turn,
    );
    for (const one of found) unknown.add(one);
  }
  return nearer.flatMap((one) => {
    if (one.left > 0) return [one];
    return unknown.has(one.of) ? [{ of: one.of, ticks: one.ticks * 2, left: one.ticks * 2 }] : [];
  });
}

/**
 * One pass over the packages of all hosts. What one host reports decides for that host alone. Returns the first packages of
 * which something was not known, at most UNKNOWN_MAX.
 */
export async function offerFixes(
  deps: FixDeps,
  { onlyNew }: { onlyNew: boolean },
  isStopped: () => boolean = () => false,
): Promise<readonly StoredCandidates[]> {
  const turn = newTurn();
  const unknown: StoredCandidates[] = [];
  let after: StoredCandidates | null = null;
  while (!isStopped()) {
    const page: StoredCandidates[] = await listCandidates(deps.platform.database.read, {
      ...{ after, limit: PAGE_PACKAGES, onlyNew },
    });
    after = page.at(-1) ?? null;
    if (after === null) break;
    unknown.push(...(await lookUp(deps, page, turn)).slice(0, UNKNOWN_MAX - unknown.length));
  }
  return unknown;
}

/** What one pass has done so far, by host. */
interface Turn {
  readonly planned: Map<string, number>;
  readonly lookedUp: Map<string, number>;
}

function newTurn(): Turn {
  return { planned: new Map(), lookedUp: new Map() };
}

/** Looks up some packages and offers what is found. Returns those of which something is not known. */
async function lookUp(
  deps: FixDeps,
  page: readonly StoredCandidates[],
  { planned, lookedUp }: Turn,
): Promise<StoredCandidates[]> {
  const installed = await knownOf(
    deps,
    page.flatMap((of) => subjectsOfVersion(of, of.currentVersion)),
  );
  const vulnerable = page.filter((of) => {
    if ((knownIn(installed, of, of.currentVersion)?.size ?? 0) === 0) return false;
    const before = lookedUp.get(of.agentId) ?? 0;
    lookedUp.set(of.agentId, before + 1);
    return before < PACKAGES_A_HOST;
  });
  const offered = await knownOf(
    deps,
    vulnerable.flatMap((of) => of.versions.flatMap((version) => subjectsOfVersion(of, version))),
  );
  for (const of of page) {
    // Its versions may take milliseconds to sort.
    await takeTurn();
    const candidates = risingAbove(of).map((version) => ({
      version,
      known: knownIn(offered, of, version),
    }));
    const found = smallestFix(knownIn(installed, of, of.currentVersion), candidates);
    const fixVersion = fixAfter(of, found);
    if (!of.isChecked || fixVersion !== of.fixVersion) await writeFix(deps, { of, fixVersion, planned });
  }
  const unknown = new Set(page.filter((of) => isUnknown(installed, of, of.currentVersion)));
  for (const of of vulnerable) {
    await takeTurn();
    if (risingAbove(of).some((version) => isUnknown(offered, of, version))) unknown.add(of);
  }
  return [...unknown];
}

/** Whether a later look-up may tell; a version that cannot be queried stays unknown. */
function isUnknown(known: ReadonlyMap<string, Known>, of: StoredCandidates, version: string): boolean {
  return subjectsOfVersion(of, version).length > 0 && knownIn(known, of, version) === null;
}

/** A host may report them in any order, and others too. */
function risingAbove({ ecosystem, currentVersion, versions }: StoredCandidates): string[] {
  return versions
    .filter((version) => compareVersions(ecosystem, version, currentVersion) === 1)
    .toSorted((a, b) => Number(compareVersions(ecosystem, a, b)) || 0);
}

/** What is not known changes nothing. */
function fixAfter({ versions, fixVersion }: StoredCandidates, found: SmallestFix): string | null {
  switch (found.kind) {
    case 'fix':
      return found.version;
    case 'none':
      return null;
    case 'unknown':
      return fixVersion !== null && versions.includes(fixVersion) ? fixVersion : null;
  }
}

async function writeFix(
  { platform, config }: FixDeps,
  {
    of,
    fixVersion,
    planned,
  }: { of: StoredCandidates; fixVersion: string | null; planned: Map<string, number> },
): Promise<void> {
  const { agentId, ecosystem } = of;
  const asked = planned.get(agentId) ?? 0;
  const isNew = await platform.database.transact(async (tx) => {
    if (!(await lockAgent(tx, agentId))) return false;
    if (!(await setFix(tx, { of, fixVersion, nowMs: platform.now() }))) return false;
    const row = await offerFix(tx, platform, { of, fixVersion });
    await recommendVersions(tx, { of, maxChange: config.maxChange });
    if (!row || asked >= PLANS_A_HOST) return false;
    const params = { ecosystem, updates: [plannedUpdate(row)] };
    await queueCommand(tx, platform, { agentId, action: 'plan_update', params, createdBy: 'server' });
    return true;
  });
  if (isNew) planned.set(agentId, asked + 1);
}

function plannedUpdate({ id, name, arch, available_version }: UpdateRow) {
  return { update_id: id, name, ...(arch !== '' && { arch }), to_version: available_version };
}

/** Known vulnerabilities by subject; subjects without a fresh and complete check are missing. */
async function knownOf(
  { platform, config, worker }: FixDeps,
  given: readonly Subject[],
): Promise<Map<string, Known>> {
  const subjects = distinctSubjects(given);
  if (subjects.length === 0) return new Map();
  await worker.judgeInBackground(subjects, WAIT_MS);
  const checks = await readChecks(platform.database.read, subjects);
  const at = { nowMs: platform.now(), maxAgeMs: config.advisoryMaxAgeHours * 3_600_000 };
  const fresh = [...checks].filter(([, check]) => isFresh(check, at) && check.verdict !== 'unchecked');
  return new Map(fresh.map(([key, { ids }]) => [key, new Set(ids)]));
}

function knownIn(known: ReadonlyMap<string, Known>, of: StoredCandidates, version: string): Known {
  const [subject] = subjectsOfVersion(of, version);
  return (subject && known.get(subjectKey(subject))) ?? null;
}

/** One subject; none if the version cannot be queried. */
function subjectsOfVersion({ ecosystem, name }: StoredCandidates, version: string): readonly Subject[] {
  if (!Value.Check(Ecosystem, ecosystem)) return [];
  return subjectsOf(ecosystem, ANY_SYSTEM, { name, version }).subjects;
}

/** npm and PyPI are the same on each system. */
const ANY_SYSTEM = { id: '', versionId: '' };

/** Applies SERVICE_MAX_CHANGE to all hosts that have offers. */
async function recommendFleet({ platform, config }: FixDeps, isStopped: () => boolean): Promise<void> {
  let after: StoredCandidates | null = null;
  let host = '';
  while (!isStopped()) {
    const page: StoredCandidates[] = await listCandidates(platform.database.read, {
      ...{ after, limit: PAGE_PACKAGES, onlyNew: false },
    });
    after = page.at(-1) ?? null;
    if (after === null) return;
    for (const { agentId, ecosystem } of page) {
      if (host === `${agentId} ${ecosystem}`) continue;
      host = `${agentId} ${ecosystem}`;
      await platform.database.transact(async (tx) => {
        if (!(await lockAgent(tx, agentId))) return;
        await recommendOffers(tx, { agentId, ecosystem, maxChange: config.maxChange });
      });
    }
  }
}
