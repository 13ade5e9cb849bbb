import type { BulkApproveAnswer } from '@tidegate/protocol/approvals-api';
import { APPROVAL_MAX_UPDATES } from '@tidegate/protocol/documents';
import { chunks } from '../platform/db/chunks.ts';
import { type GroupScope, isInScope } from '../platform/db/group-scope.ts';
import { judgedParts, type UpdateGroup } from '../updates/many-store.ts';
import { packageKey } from '../updates/scan-rules.ts';
import type { UpdateRow } from '../updates/store.ts';
import { managerOf } from '../updates/update-set.ts';
import type { Asker } from './asker.ts';
import { type ApprovalDeps, policyOf, waitLeftMs } from './deps.ts';
import { splitFlagged } from './flagged-set-rules.ts';
import { judge } from './gate.ts';
import type { ApprovalRequest, UpdateFacts } from './gate-facts.ts';
import { factsOf, knownOnly, type Waited, waitForSources } from './load-facts.ts';
import {
  type LoadedSet,
  type LoadedUpdate,
  loadSets,
  loadUpdates,
  membersOf,
  subjectsOfUpdate,
} from './load-update.ts';
import type { Minting } from './mint-approval.ts';
import type { BulkBlock } from './record-block.ts';

/** Updates that are judged and minted together: more save statements, fewer let other requests in sooner (bench/README.md). */
export const CHUNK_UPDATES = 500;

/** Groups of updates to be judged, for whoever asks. */
export interface Judging {
  readonly groups: readonly UpdateGroup[];
  readonly asker: Asker;
  readonly waited: Waited;
  /** Until when to wait for what only a set brings. */
  readonly untilMs: number;
}

/** What the gate says of groups of updates; nothing is written. */
export interface Judged {
  readonly decided: readonly Decided[];
  /** Stopped by their own plans; a split set has its own. */
  readonly blocks: BulkBlock[];
  readonly skipped: BulkApproveAnswer['skipped'];
}

/**
 * A group whose plan is there and passes is one transaction as it is: that closure is what the host installs. Otherwise each
 * update is judged by its own plan first; those of a group that pass are then judged as one set.
 */
export async function judgeGroups(deps: ApprovalDeps, judging: Judging): Promise<Judged> {
  const blocks: BulkBlock[] = [];
  const skipped: Judged['skipped'] = [];
  const { decided, absent, stopped } = await judgeWhole(deps, judging);
  // Those of a group that is stopped as a whole were not waited for one by one.
  const passed = [
    ...(await judgeEach(deps, { ...judging, groups: absent, blocks, skipped })),
    ...(await judgeEach(deps, { ...judging, groups: stopped, waited: null, blocks, skipped })),
  ];
  decided.push(
    ...passed.flatMap(({ only, unplanned }): Decided[] => [
      ...(unplanned.length > 0 ? [{ kind: 'wait' as const, sets: [unplanned] }] : []),
      ...(only ? [only] : []),
    ]),
  );
  const sets = passed.flatMap(({ clear }) => (clear.length > 1 ? chunks(clear, APPROVAL_MAX_UPDATES) : []));
  decided.push(...(await judgeSets(deps, { untilMs: judging.untilMs, asker: judging.asker, sets })));
  return { decided, blocks, skipped };
}

/** Groups that can be judged as they are: more than one update, all open and of the operator's groups, and their plan is there. */
export async function loadWhole(
  deps: ApprovalDeps,
  { groups, asker }: Pick<Judging, 'groups' | 'asker'>,
): Promise<Map<UpdateGroup, LoadedSet>> {
  const several = groups.filter(({ updateIds: { length } }) => length > 1 && length <= APPROVAL_MAX_UPDATES);
  const loaded = await loadSets(
    deps,
    several.map(({ updateIds }) => updateIds),
  );
  const byUpdate = new Map(loaded.flatMap((set) => set.updates.map(({ id }) => [id, set] as const)));
  const whole = new Map<UpdateGroup, LoadedSet>();
  for (const group of several) {
    const set = byUpdate.get(group.updateIds[0] ?? '');
    if (!set?.planned || set.updates.length < group.updateIds.length) continue;
    // Of two versions that are offered, one is left out.
    const packages = new Set(set.updates.map(packageKey));
    if (packages.size < set.updates.length) continue;
    if (isOpen(set) && isInScope(asker.scope, set.agent.group_name)) whole.set(group, set);
  }
  return whole;
}

/**
 * The groups that pass as they are by what is stored, without waiting for any source. The others, and all whose release
 * times a registry has to say, are to be waited for.
 */
export async function judgeKnown(
  deps: ApprovalDeps,
  { groups, asker }: Pick<Judging, 'groups' | 'asker'>,
): Promise<{ decided: Decided[]; rest: UpdateGroup[] }> {
  const whole = await loadWhole(deps, { groups, asker });
  const known = new Map([...whole].filter(([, { planned }]) => planned?.aged.length === 0));
  const { decided, stopped } = await judgeSound(deps, known, { waited: await knownOnly(deps), asker });
  const left = new Set(stopped);
  return { decided, rest: groups.filter((group) => !known.has(group) || left.has(group)) };
}

/** The groups that pass as they are; the others are judged update by update, whether their plan is absent or stopped. */
async function judgeWhole(
  deps: ApprovalDeps,
  judging: Judging,
): Promise<{ decided: Decided[]; absent: UpdateGroup[]; stopped: UpdateGroup[] }> {
  const whole = await loadWhole(deps, judging);
  const absent = judging.groups.filter((group) => !whole.has(group));
  return { ...(await judgeSound(deps, whole, judging)), absent };
}

async function judgeSound(
  deps: ApprovalDeps,
  whole: ReadonlyMap<UpdateGroup, LoadedSet>,
  { waited, asker }: Pick<Judging, 'waited' | 'asker'>,
): Promise<{ decided: Decided[]; stopped: UpdateGroup[] }> {
  const facts = await factsOf(deps, [...whole.values()], waited);
  const decided: Decided[] = [];
  const stopped: UpdateGroup[] = [];
  for (const [i, [group, loaded]] of [...whole].entries()) {
    const known = facts[i];
    if (!known) continue;
    const request = await asker.requestOf(loaded, known);
    const verdict = judge(known, policyOf(deps), request);
    if (verdict.kind === 'mint') decided.push({ kind: 'mint', loaded, facts: known, verdict, request });
    else stopped.push(group);
  }
  return { decided, stopped };
}

/** What is to be written for a set. */
export type Decided =
  | (Pick<Minting, 'facts' | 'verdict' | 'request'> & { readonly kind: 'mint'; readonly loaded: LoadedSet })
  | { readonly kind: 'wait'; readonly sets: readonly (readonly UpdateRow[])[] }
  /** A flagged set: some are stopped, the others wait for a plan of their own. */
  | {
      readonly kind: 'split';
      readonly blocks: readonly BulkBlock[];
      readonly sets: readonly (readonly UpdateRow[])[];
    };

/** What the gate says of the updates of a group by their own plans. */
interface Passed {
  /** The ids of those that it passes. */
  readonly clear: string[];
  /** The verdict of the one that it passes, if it is only one. */
  only: Decided | null;
  readonly unplanned: UpdateRow[];
  /** Packages of the group so far: of two versions that are offered, the first named is approved. */
  readonly packages: Set<string>;
}

interface Each extends Omit<Judging, 'waited'>, Pick<Judged, 'blocks' | 'skipped'> {
  /** Null where nobody has waited for the updates of these groups. */
  readonly waited: Waited | null;
}

function noneOf(): Passed {
  return { clear: [], only: null, unplanned: [], packages: new Set() };
}

/** By host, ecosystem and place; what the gate stops or cannot judge yet enters `blocks` and the answer. */
async function judgeEach(
  deps: ApprovalDeps,
  { groups, asker, waited, untilMs, blocks, skipped }: Each,
): Promise<Passed[]> {
  const passed = new Map<string, Passed>();
  const updateIds = groups.flatMap((group) => group.updateIds);
  for (const ids of await partsOf(deps, updateIds)) {
    const found = await loadInScope(deps, { ids, scope: asker.scope });
    const open: LoadedUpdate[] = [];
    for (const id of ids) {
      const loaded = found.get(id);
      if (loaded && isOpen(loaded)) open.push(loaded);
      else skipped.push({ update_id: id, code: loaded ? 'conflict' : 'not_found' });
    }
    const facts = await factsOf(deps, open, waited ?? (await waitForSets(deps, open, untilMs)));
    for (const [i, loaded] of open.entries()) {
      const known = facts[i];
      if (!known) continue;
      const { update } = loaded;
      const request = await asker.requestOf(loaded, known);
      const verdict = judge(known, policyOf(deps), request);
      const group = passed.get(managerOf(update)) ?? noneOf();
      passed.set(managerOf(update), group);
      const isPassed = verdict.kind === 'plan_unknown' || verdict.kind === 'mint';
      if (isPassed && group.packages.has(packageKey(update))) {
        skipped.push({ update_id: update.id, code: 'conflict' });
        continue;
      }
      if (isPassed) group.packages.add(packageKey(update));
      if (verdict.kind === 'plan_unknown') group.unplanned.push(update);
      else if (verdict.kind === 'blocked') blocks.push({ loaded, facts: known, verdict, request });
      else if (verdict.kind !== 'mint') skipped.push({ update_id: update.id, code: 'verdict_pending' });
      else {
        group.clear.push(update.id);
        group.only =
          group.clear.length === 1 ? { kind: 'mint', loaded, facts: known, verdict, request } : null;
      }
    }
  }
  return [...passed.values()];
}

/** Judges each set as one closure, by its plan; without one it waits for it. */
async function judgeSets(
  deps: ApprovalDeps,
  { untilMs, asker, sets }: Pick<Judging, 'untilMs' | 'asker'> & { sets: readonly (readonly string[])[] },
): Promise<Decided[]> {
  if (sets.length === 0) return [];
  const loaded = await loadSets(deps, sets);
  // A transaction may bring what no update brings by itself.
  const waited = await waitForSets(deps, loaded, untilMs);
  const facts = await factsOf(deps, loaded, waited);
  const decided: Decided[] = [];
  for (const [i, one] of loaded.entries()) {
    const known = facts[i];
    if (known)
      decided.push(
        await judgeSet(deps, { loaded: one, facts: known, request: await asker.requestOf(one, known) }),
      );
  }
  return decided;
}

/** Waits for what these rest on until then. What is not known in time is left to the sweep. */
function waitForSets(deps: ApprovalDeps, loaded: readonly LoadedSet[], untilMs: number): Promise<Waited> {
  const subjects = loaded.map(subjectsOfUpdate);
  return waitForSources(
    deps,
    {
      advisories: subjects.flatMap(({ advisories }) => advisories),
      aged: subjects.flatMap(({ aged }) => aged),
    },
    waitLeftMs(deps, untilMs),
  );
}

async function judgeSet(
  deps: ApprovalDeps,
  { loaded, facts, request }: { loaded: LoadedSet; facts: UpdateFacts; request: ApprovalRequest },
): Promise<Decided> {
  const verdict = judge(facts, policyOf(deps), request);
  switch (verdict.kind) {
    case 'mint':
      return { kind: 'mint', loaded, facts, verdict, request };
    case 'blocked': {
      const { stopped, rest } = splitFlagged(await membersOf(deps, loaded), { verdict, round: 0 });
      const byId = new Map(loaded.updates.map((update) => [update.id, update]));
      const rowsOf = (ids: readonly string[]) => ids.flatMap((id) => byId.get(id) ?? []);
      const blocks = rowsOf(stopped).map((update): BulkBlock => {
        return { loaded: { ...loaded, updates: [update], update }, facts, verdict, request };
      });
      return { kind: 'split', blocks, sets: rest.map(rowsOf) };
    }
    case 'plan_unknown':
    case 'verdict_pending':
    case 'plan_required':
    case 'override_reason_required':
      return { kind: 'wait', sets: [loaded.updates] };
  }
}

/** Parts that fit in memory. */
export function partsOf({ platform }: ApprovalDeps, updateIds: readonly string[]): Promise<string[][]> {
  return judgedParts(platform.database.read, { updateIds, most: CHUNK_UPDATES });
}

/** Updates outside of the operator's groups do not exist for it. */
export async function loadInScope(
  deps: ApprovalDeps,
  { ids, scope }: { ids: readonly string[]; scope: GroupScope },
): Promise<Map<string, LoadedUpdate>> {
  const loaded = await loadUpdates(deps, ids);
  return new Map([...loaded].filter(([, { agent }]) => isInScope(scope, agent.group_name)));
}

export function isOpen({ updates, agent }: LoadedSet): boolean {
  const states = updates.map(({ state }) => state);
  return (
    agent.status === 'active' && states.every((state) => state === 'pending' || state === 'awaiting_plan')
  );
}
