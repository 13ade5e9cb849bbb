import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { Basis } from '../advisories/basis-rules.ts';
import type { ClosureFacts } from '../advisories/closure-facts.ts';
import { readSnapshotMarks } from '../advisories/mirror/store.ts';
import { type Closure, readBases, readClosureFacts } from '../advisories/read-closure.ts';
import type { Subject } from '../advisories/subjects.ts';
import { withTags } from '../agents/host-scope.ts';
import type { BoundDivergence } from '../artifacts/divergence-rules.ts';
import { sightingsOf } from '../artifacts/identity-rules.ts';
import { readBoundDivergences } from '../artifacts/read-divergences.ts';
import { type HeldPackage, heldIn } from '../holds/hold-rules.ts';
import { holdsInForce } from '../holds/store.ts';
import { readOriginFacts } from '../origins/read-origins.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { readReleaseTimes } from '../release-times/store.ts';
import { type AgeSubject, ageApplies, ageKey, storedTimeKey } from '../release-times/subjects.ts';
import type { AgeOutcomes, SourceOutcome } from '../release-times/worker.ts';
import { type StatementFact, statementsFor } from '../vex/statement-rules.ts';
import { statementsAbout } from '../vex/store.ts';
import { type AgeFacts, ageFacts } from './age-rules.ts';
import type { ApprovalDeps } from './deps.ts';
import type { UpdateFacts } from './gate-facts.ts';
import { readInformation } from './information.ts';
import type { LoadedSet } from './load-update.ts';
import { NO_REGISTRY, type RegistryFacts, registryFacts } from './registry-rules.ts';
import { liveAgeExceptions } from './store.ts';

export interface Waited {
  /** Whether every source failed for a subject without a fresh check; otherwise it is not known yet. */
  readonly isUnreachable: (key: string) => boolean;
  /** The mirror's snapshots, from before any query. */
  readonly snapshots: ReadonlyMap<string, string>;
  readonly ages: AgeOutcomes;
}

/** Waits for both sources in parallel, at most `timeoutMs`. */
export async function waitForSources(
  deps: ApprovalDeps,
  subjects: { advisories: readonly Subject[]; aged: readonly AgeSubject[] },
  timeoutMs: number,
): Promise<Waited> {
  const snapshots = await readSnapshotMarks(deps.platform.database.read);
  const [{ unreachable }, ages] = await Promise.all([
    deps.worker.ensureJudged(subjects.advisories, timeoutMs),
    // Also with the age gate off: hashes are compared with the registry in every mode.
    deps.ageSource.ensureTimed(subjects.aged, timeoutMs),
  ]);
  return { isUnreachable: (key) => unreachable.has(key), snapshots, ages };
}

/** Without asking any source: what is not stored, or is too old, is not known yet. */
export async function knownOnly({ platform, ageSource }: ApprovalDeps): Promise<Waited> {
  const snapshots = await readSnapshotMarks(platform.database.read);
  return { isUnreachable: () => false, snapshots, ages: ageSource.outcomes() };
}

/** Without asking any source: by what is stored, and whether the sources answer at present. */
export function storedOnly({ worker, ageSource }: Pick<ApprovalDeps, 'worker' | 'ageSource'>): Waited {
  const status = worker.status();
  const isDown = status !== 'ok' && status !== 'loading';
  return { isUnreachable: () => isDown, snapshots: new Map(), ages: ageSource.outcomes() };
}

/** The gate's facts, from stored data; all updates share the statements for the checks. */
export async function factsOf(
  deps: ApprovalDeps,
  loaded: readonly LoadedSet[],
  waited: Waited,
): Promise<UpdateFacts[]> {
  const nowMs = deps.platform.now();
  const maxAgeMs = deps.config.advisoryMaxAgeHours * 3_600_000;
  const closures = loaded.flatMap(({ planned }) => (planned ? [planned.closure] : []));
  const at = { nowMs, maxAgeMs, snapshots: waited.snapshots };
  const judged = await readClosureFacts(deps.platform.database.read, closures, at);
  const byClosure = new Map(closures.map((closure, i) => [closure, judged[i]]));
  const divergences = await divergencesOfPlans(deps.platform.database.read, loaded);
  const information = await readInformation(deps, loaded);
  const held = await heldOfPlans(deps.platform.database.read, loaded, nowMs);
  const stated = await statementsOfClosures(deps, loaded, byClosure);
  const origins = await readOriginFacts(
    deps.platform.database.read,
    loaded.map(({ ecosystem, agent, planned }) => ({
      ...{ agentId: agent.id, ecosystem, osId: agent.os_id, osArch: agent.os_arch },
      ...{ actions: planned?.plan.actions ?? [], packages: planned?.closure.packages ?? [] },
    })),
    nowMs,
  );
  const released = await Promise.all(
    loaded.map(({ ecosystem, planned }) => {
      const source = outcomeOf(waited, ecosystem);
      return planned && readRelease(deps, { ecosystem, subjects: planned.aged, source, nowMs });
    }),
  );
  return loaded.map(({ ecosystem, planned }, i) => {
    const closure = planned && byClosure.get(planned.closure);
    const release = released[i];
    return {
      ecosystem,
      judged:
        closure && release
          ? {
              ...{ closure, ...release, divergences: divergences[i] ?? [], statements: stated[i] ?? [] },
              ...(held[i]?.length ? { held: held[i] } : {}),
              ...(origins[i]?.items.length ? { origins: origins[i] } : {}),
            }
          : null,
      advisories: closure ? advisoriesOf(deps, closure, waited) : 'judged',
      ...(information[i] ? { information: information[i] } : {}),
    };
  });
}

/**
 * State of the sources for one closure. A check that became too old because newer data arrived counts as not known yet.
 * The present versions matter only if they can excuse a vulnerability.
 */
function advisoriesOf(
  { config }: ApprovalDeps,
  { basis }: ClosureFacts,
  { isUnreachable }: Waited,
): UpdateFacts['advisories'] {
  const { after = [], before = [] } = basis?.unknown ?? {};
  const unknown = config.vulnerabilityPolicy === 'introduced' ? [...after, ...before] : after;
  if (unknown.length === 0) return 'judged';
  return unknown.every(isUnreachable) ? 'unreachable' : 'pending';
}

/** Where the age gate does not apply, no source is queried. */
function outcomeOf({ ages }: Waited, ecosystem: Ecosystem): SourceOutcome {
  return ageApplies(ecosystem) ? ages[ecosystem] : 'judged';
}

/** What the closures of updates rest on now, in a transaction that holds the snapshots. */
export async function basesOf(
  tx: Tx,
  { platform, config }: ApprovalDeps,
  loaded: readonly LoadedSet[],
): Promise<Map<LoadedSet, Basis>> {
  const known = loaded.flatMap((one) => (one.planned ? [{ one, closure: one.planned.closure }] : []));
  const bases = await readBases(
    tx,
    known.map(({ closure }) => closure),
    {
      nowMs: platform.now(),
      maxAgeMs: config.advisoryMaxAgeHours * 3_600_000,
      snapshots: await readSnapshotMarks(tx),
    },
  );
  return new Map(bases.flatMap((basis, i) => (known[i] ? [[known[i].one, basis] as const] : [])));
}

/** The divergent artifacts that block each plan, in the given order. */
export async function divergencesOfPlans(db: Db, loaded: readonly LoadedSet[]): Promise<BoundDivergence[][]> {
  const plans = loaded.map(({ planned, ecosystem, agent }) => {
    const host = { osId: agent.os_id, osArch: agent.os_arch };
    const actions = planned?.plan.actions ?? [];
    return { agentId: agent.id, sightings: () => sightingsOf({ ecosystem, host, actions }) };
  });
  return readBoundDivergences(db, plans);
}

/** The packages on hold that each plan would change, in the given order. */
export async function heldOfPlans(
  db: Db,
  loaded: readonly LoadedSet[],
  nowMs: number,
): Promise<HeldPackage[][]> {
  const holds = await holdsInForce(db, nowMs);
  const hosts = await withTags(
    db,
    loaded.map(({ agent }) => ({ id: agent.id, group: agent.group_name })),
    holds.map(({ scope }) => scope),
  );
  return loaded.map(({ planned, ecosystem }, i) => {
    const host = hosts[i];
    if (!host) throw new Error('a set without a host');
    return heldIn(holds, { ecosystem, host, actions: planned?.plan.actions ?? [] });
  });
}

/** Operators' statements that excuse findings of each closure, in the given order; one read for all. */
async function statementsOfClosures(
  { platform }: ApprovalDeps,
  loaded: readonly LoadedSet[],
  facts: ReadonlyMap<Closure, ClosureFacts | undefined>,
): Promise<StatementFact[][]> {
  const nowMs = platform.now();
  const findingsOf = ({ planned }: LoadedSet) => (planned && facts.get(planned.closure)?.findings) || [];
  const packages = loaded.flatMap((one) =>
    findingsOf(one).map((finding) => ({ ecosystem: one.ecosystem, name: finding.package })),
  );
  const statements = await statementsAbout(platform.database.read, { packages, nowMs });
  return loaded.map((one) => {
    const { ecosystem, agent } = one;
    const host = { agentId: agent.id, group: agent.group_name, distribution: agent.os_id };
    return statementsFor(findingsOf(one), statements, { ecosystem, ...host, nowMs });
  });
}

/** The registries' stored answers: ages for A7, and hashes. */
async function readRelease(
  { platform, config }: ApprovalDeps,
  args: { ecosystem: Ecosystem; subjects: readonly AgeSubject[]; source: SourceOutcome; nowMs: number },
): Promise<{ age: AgeFacts; registry: RegistryFacts }> {
  const { ecosystem, subjects, source, nowMs } = args;
  const db = platform.database.read;
  const mode = config.gateEnforcement;
  const names = subjects.map(({ name }) => name);
  const rows = subjects.length > 0 ? await readReleaseTimes(db, { ecosystem, names }) : [];
  const said = new Map(
    rows.map((row) => [
      storedTimeKey({ ...row, ecosystem }),
      { atMs: row.published_at, standing: row.standing, source: row.source },
    ]),
  );
  const versions = subjects.map(({ version }) => version);
  const isAged = mode !== 'off' && subjects.length > 0;
  const exceptions = isAged ? await liveAgeExceptions(db, { ecosystem, versions, nowMs }) : [];
  const age = ageFacts({
    ecosystem,
    mode,
    subjects,
    released: said,
    exceptions: new Set(exceptions.map((row) => ageKey({ ...row, ecosystem }))),
    source,
    nowMs,
    minimumHours: config.minAgeHours,
  });
  return { age, registry: ageApplies(ecosystem) ? registryFacts({ subjects, said, source }) : NO_REGISTRY };
}
