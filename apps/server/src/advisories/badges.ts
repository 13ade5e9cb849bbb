import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { findAgents } from '../agents/store.ts';
import type { Platform } from '../platform/platform.ts';
import { type BackgroundWork, repeat } from '../platform/repeat.ts';
import { lockUpdates } from '../updates/lock-updates.ts';
import { judgedParts, readPlans, setVerdicts } from '../updates/many-store.ts';
import { fixRank, queueRank, UNKNOWN_FIX, type Urgency, worstSeverity } from '../updates/queue-rules.ts';
import type { UpdateRow } from '../updates/store.ts';
import type { ClosureFacts } from './closure-facts.ts';
import { closureSubjects } from './closure-packages.ts';
import { type PartCounts, partCounts } from './closure-parts.ts';
import { areScoresCurrent } from './exploited/epss-scores.ts';
import { readFetched, readKevList } from './exploited/store.ts';
import { type Closure, readClosureFacts, readClosures } from './read-closure.ts';
import { readOpenUpdates } from './store.ts';
import type { AdvisoryWorker } from './worker.ts';

/** Updates judged together. */
const PAGE_UPDATES = 100;
/** The longest time between two ticks, in milliseconds. */
const TICK_MAX_MS = 30_000;
/** Between full checks of all open updates, in milliseconds; other ticks judge only those without a badge. */
const FULL_CHECK_EVERY_MS = 600_000;
const WAIT_MS = 60_000;

/** The gate's rule: which vulnerability policies stop an operator's approval of this closure. */
type StoppedUnder = (closure: ClosureFacts) => NonNullable<UpdateRow['stopped_under']>;

export interface BadgeOptions {
  readonly platform: Platform;
  readonly worker: AdvisoryWorker;
  readonly maxAgeMs: number;
  readonly stoppedUnder: StoppedUnder;
  readonly tickMs?: number;
}

/** Keeps the vulnerability badges of open updates current, at lower priority than any waiting request. */
export function createBadgeRefresher(options: BadgeOptions): BackgroundWork {
  const { platform } = options;
  const tickMs = Math.min(options.tickMs ?? TICK_MAX_MS, TICK_MAX_MS);
  const ticksToFullCheck = Math.ceil(FULL_CHECK_EVERY_MS / tickMs);
  let ticks = 0;
  let feedsSeen = '';
  return repeat({
    intervalMs: tickMs,
    async run(isStopped) {
      try {
        const feeds = JSON.stringify(await feedStates(platform));
        // A freshly fetched feed may reorder updates that were judged before; one that is too old or switched off says less.
        const isWhole = ticks++ % ticksToFullCheck === 0 || feeds !== feedsSeen;
        await refreshBadges(options, { onlyUnjudged: !isWhole }, isStopped);
        if (!isStopped()) feedsSeen = feeds;
      } catch (error) {
        // The next tick tries again: an unavailable database must not end the process.
        if (!isStopped()) platform.log.error('badges were not refreshed', { error: String(error) });
      }
    },
  });
}

async function feedStates({ database: { read }, now }: Platform) {
  const epss = await readFetched(read, 'epss');
  return {
    kev: await readKevList(read, now()),
    epss,
    isScored: epss !== null && areScoresCurrent(epss, now()),
  };
}

/** One pass over the open updates with a known plan. */
export async function refreshBadges(
  options: BadgeOptions,
  { onlyUnjudged }: { onlyUnjudged: boolean },
  isStopped: () => boolean = () => false,
): Promise<void> {
  const { platform } = options;
  const db = platform.database.read;
  const { saysNo: isKevKnown } = await readKevList(db, platform.now());
  let after = '';
  while (!isStopped()) {
    const updates = await readOpenUpdates(db, { after, limit: PAGE_UPDATES, onlyUnjudged });
    const last = updates.at(-1);
    if (!last) return;
    after = last.id;
    const byId = new Map(updates.map((update) => [update.id, update]));
    for (const ids of await judgedParts(db, { updateIds: [...byId.keys()], most: PAGE_UPDATES })) {
      await refreshPart(
        options,
        ids.flatMap((id) => byId.get(id) ?? []),
        isKevKnown,
      );
    }
  }
}

async function refreshPart(
  { platform, worker, maxAgeMs, stoppedUnder }: BadgeOptions,
  updates: readonly UpdateRow[],
  isKevKnown: boolean,
): Promise<void> {
  const known = await closuresOf(platform, updates);
  const closures = known.map(({ closure }) => closure);
  const sides = closures.map(({ packages }) => closureSubjects(packages));
  await worker.judgeInBackground(
    sides.flatMap(({ after, before }) => [...after, ...before]),
    WAIT_MS,
  );
  const at = { nowMs: platform.now(), maxAgeMs, snapshots: NONE };
  const facts = await readClosureFacts(platform.database.read, closures, at);
  await writeBadges(
    platform,
    known.map(({ update }, i) => ({ update, badge: badgeOf(facts[i], { isKevKnown, stoppedUnder }) })),
  );
}

/** The closure of each update whose plan and host still exist; installed packages are read once per host. */
async function closuresOf(platform: Platform, updates: readonly UpdateRow[]): Promise<KnownUpdate[]> {
  const db = platform.database.read;
  const plans = await readPlans(
    db,
    updates.flatMap(({ plan_id }) => plan_id ?? []),
  );
  const agents = await findAgents(
    db,
    updates.map(({ agent_id }) => agent_id),
  );
  const requests = updates.flatMap((update) => {
    const plan = update.plan_id === null ? undefined : plans.get(update.plan_id);
    const agent = agents.get(update.agent_id);
    const { ecosystem } = update;
    if (!plan || !agent || !Value.Check(Ecosystem, ecosystem)) return [];
    const system = { id: agent.os_id, versionId: agent.os_version_id };
    const tops = [{ name: update.name, arch: update.arch }];
    return [{ update, request: { agentId: agent.id, ecosystem, system, actions: plan.actions, tops } }];
  });
  const known: KnownUpdate[] = [];
  const hosts = Map.groupBy(requests, ({ request }) => `${request.agentId} ${request.ecosystem}`);
  for (const some of hosts.values()) {
    const closures = await readClosures(
      db,
      some.map(({ request }) => request),
    );
    for (const [i, closure] of closures.entries()) {
      const update = some[i]?.update;
      if (update) known.push({ update, closure });
    }
  }
  return known;
}

interface KnownUpdate {
  readonly update: UpdateRow;
  readonly closure: Closure;
}

async function writeBadges(
  platform: Platform,
  judged: readonly { update: UpdateRow; badge: Badge }[],
): Promise<void> {
  const changed = judged.flatMap(({ update, badge }) => {
    const { knownExploited: _, ...stated } = badge;
    const row = { ...stated, ...exploitationOf(badge) };
    const isSame =
      update.verdict === row.verdict &&
      update.severity === row.severity &&
      update.known_exploited === row.known_exploited &&
      update.epss === row.epss &&
      update.queue_rank === row.queue_rank &&
      update.introduces === row.introduces &&
      update.stays === row.stays &&
      update.fixes === row.fixes &&
      update.fixes_severity === row.fixes_severity &&
      update.fixes_exploited === row.fixes_exploited &&
      update.fix_rank === row.fix_rank &&
      update.stopped_under === row.stopped_under;
    return isSame ? [] : [{ updateId: update.id, badge: row }];
  });
  if (changed.length === 0) return;
  await platform.database.transact(async (tx) => {
    const { engine } = platform.database;
    // Lock rows in the order that approvals use: two transactions over the same rows would deadlock otherwise.
    await lockUpdates(tx, { engine, updateIds: changed.map(({ updateId }) => updateId) });
    await setVerdicts(tx, { badges: changed, nowMs: platform.now() });
  });
}

interface Badge extends Urgency, PartCounts, FixedBadge {
  readonly verdict: string | null;
  readonly stopped_under: UpdateRow['stopped_under'];
}

type FixedBadge = Pick<UpdateRow, 'fixes_severity' | 'fixes_exploited' | 'fix_rank'>;

/** The worst of what the update fixes. */
function fixedBadge({ fixed, isFixedComplete = false }: ClosureFacts, fixes: number | null): FixedBadge {
  const severity = worstSeverity(fixed.map((one) => one.severity));
  const isNone = isFixedComplete && fixed.every(({ kev }) => kev === false);
  const exploited = fixed.some(({ kev }) => kev) || (isNone && fixed.length > 0 ? false : null);
  return {
    fixes_severity: severity,
    fixes_exploited: exploited === null ? null : Number(exploited),
    fix_rank: fixRank({ fixes, severity, exploited }),
  };
}

function exploitationOf(badge: Badge) {
  const { knownExploited, epss } = badge;
  return {
    known_exploited: knownExploited === null ? null : Number(knownExploited),
    epss,
    queue_rank: queueRank(badge),
  };
}

const NONE: ReadonlyMap<string, string> = new Map();
const NOTHING: Badge = {
  ...{ verdict: null, severity: null, knownExploited: null, epss: null },
  ...{ introduces: null, stays: null, fixes: null, stopped_under: null },
  ...{ fixes_severity: null, fixes_exploited: null, fix_rank: UNKNOWN_FIX },
};

/** The badge fails open (specification, "Advisory checks"): while the source is unreachable there is no hint. */
function badgeOf(
  facts: ClosureFacts | undefined,
  { isKevKnown, stoppedUnder }: { isKevKnown: boolean; stoppedUnder: StoppedUnder },
): Badge {
  if (!facts) return NOTHING;
  if (facts.verdict === 'unchecked' && facts.unchecked === 'unreachable') return NOTHING;
  const counts = partCounts(facts);
  const { kev = false, epss = null, isComplete = false } = facts.exploitation ?? {};
  return {
    verdict: facts.verdict,
    severity: worstSeverity(facts.findings.map((one) => one.severity)),
    // "No" needs every vulnerability to be looked up in a current list.
    knownExploited: kev || (isKevKnown && isComplete ? false : null),
    epss,
    ...counts,
    ...fixedBadge(facts, counts.fixes),
    stopped_under: stoppedUnder(facts),
  };
}
