import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { findAgent } from '../agents/store.ts';
import type { Platform } from '../platform/platform.ts';
import { type BackgroundWork, repeat } from '../platform/repeat.ts';
import { readPlan, setVerdict, type UpdateRow } from '../updates/store.ts';
import { type ClosureFacts, closureSubjects } from './closure-facts.ts';
import { type Closure, readClosure, readClosureFacts } from './read-closure.ts';
import { readOpenUpdates } from './store.ts';
import type { AdvisoryWorker } from './worker.ts';

/** Updates looked at together. */
const PAGE_UPDATES = 100;
const TICK_MS = 30_000;
/** Every so many ticks all open updates are judged again, not only those without a badge. */
const TICKS_TO_FULL_CHECK = 20;
const WAIT_MS = 60_000;

export interface BadgeOptions {
  readonly platform: Platform;
  readonly worker: AdvisoryWorker;
  readonly maxAgeMs: number;
  readonly tickMs?: number;
}

/** Keeps the vulnerability badge of open updates up to date, behind everything that somebody waits for. */
export function createBadgeKeeper(options: BadgeOptions): BackgroundWork {
  const { platform, tickMs = TICK_MS } = options;
  let ticks = 0;
  return repeat({
    intervalMs: tickMs,
    async run(isStopped) {
      try {
        await refreshBadges(options, { onlyUnjudged: ticks++ % TICKS_TO_FULL_CHECK !== 0 }, isStopped);
      } catch (error) {
        // The next tick tries again: a database that is away must not end the process.
        if (!isStopped()) platform.log.error('badges were not refreshed', { error: String(error) });
      }
    },
  });
}

/** One walk over the open updates whose plan is known. */
export async function refreshBadges(
  { platform, worker, maxAgeMs }: BadgeOptions,
  { onlyUnjudged }: { onlyUnjudged: boolean },
  isStopped: () => boolean = () => false,
): Promise<void> {
  const db = platform.database.read;
  let after = '';
  while (!isStopped()) {
    const updates = await readOpenUpdates(db, { after, limit: PAGE_UPDATES, onlyUnjudged });
    const last = updates.at(-1);
    if (!last) return;
    after = last.id;
    const known: { update: UpdateRow; closure: Closure }[] = [];
    for (const update of updates) {
      const closure = await closureOf(platform, update);
      if (closure) known.push({ update, closure });
    }
    const closures = known.map(({ closure }) => closure);
    const sides = closures.map(({ packages }) => closureSubjects(packages));
    await worker.judgeInBackground(
      sides.flatMap(({ after, before }) => [...after, ...before]),
      WAIT_MS,
    );
    const facts = await readClosureFacts(db, closures, { nowMs: platform.now(), maxAgeMs });
    await writeBadges(
      platform,
      known.map(({ update }, i) => ({ update, facts: facts[i] })),
    );
  }
}

async function closureOf(platform: Platform, update: UpdateRow): Promise<Closure | null> {
  const db = platform.database.read;
  const plan = update.plan_id === null ? null : await readPlan(db, update.plan_id);
  const agent = await findAgent(db, update.agent_id);
  const { ecosystem } = update;
  if (!plan || !agent || !Value.Check(Ecosystem, ecosystem)) return null;
  return readClosure(db, {
    agentId: agent.id,
    ecosystem,
    system: { id: agent.os_id, versionId: agent.os_version_id },
    actions: plan.actions,
    top: { name: update.name, arch: update.arch },
  });
}

async function writeBadges(
  platform: Platform,
  judged: readonly { update: UpdateRow; facts: ClosureFacts | undefined }[],
): Promise<void> {
  const changed = judged.flatMap(({ update, facts }) => {
    const badge = badgeOf(facts);
    const isSame = update.verdict === badge.verdict && update.severity === badge.severity;
    return isSame ? [] : [{ updateId: update.id, ...badge }];
  });
  if (changed.length === 0) return;
  await platform.database.transact(async (tx) => {
    for (const badge of changed) await setVerdict(tx, badge);
  });
}

const SEVERITIES = ['critical', 'high', 'medium', 'low', 'none'];

/** The badge fails open (specification, "Advisory checks"): while the source is away there is no hint at all. */
function badgeOf(facts: ClosureFacts | undefined): { verdict: string | null; severity: string | null } {
  if (!facts) return { verdict: null, severity: null };
  if (facts.verdict === 'unchecked' && facts.unchecked === 'unreachable')
    return { verdict: null, severity: null };
  const severities = new Set(facts.findings.map(({ severity }) => severity));
  const unrated = facts.findings.length > 0 ? 'unknown' : null;
  return {
    verdict: facts.verdict,
    severity: SEVERITIES.find((severity) => severities.has(severity)) ?? unrated,
  };
}
