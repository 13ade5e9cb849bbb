import { BACKTEST_DAYS, BACKTEST_DECISIONS_MAX, type PolicyBacktest } from '@tidegate/protocol/backtest-api';
import type { RecordedDecision } from '@tidegate/protocol/decisions-api';
import type { PolicyRequest, PolicyTerms } from '@tidegate/protocol/policies-api';
import { hostsInScope, withTags } from '../agents/host-scope.ts';
import { leftThen, type PastFacts } from '../approvals/backtest-rules.ts';
import type { DecisionRow } from '../approvals/decision-store.ts';
import type { ApprovalDeps } from '../approvals/deps.ts';
import { readRecord, TamperedDecision } from '../approvals/read-decision.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Db } from '../platform/db/engine.ts';
import { takeTurn } from '../platform/turns.ts';
import { firstSeenOf, plannedVersions } from '../release-times/seen-rules.ts';
import { readFirstSeen } from '../release-times/seen-store.ts';
import { findUpdates, readPlans } from '../updates/many-store.ts';
import { decisionsByIds, type PastDecision, pastDecisions } from './backtest-store.ts';
import { createBacktestSum } from './backtest-sum.ts';

const DAY_MS = 86_400_000;
/** Decisions that are read together. */
const PAGE = 500;
/** Updates that one answer counts. */
const UPDATES_MAX = 50_000;

/**
 * What a policy with this scope and these terms would have decided in the last 30 days, from the newest recorded
 * decisions; writes nothing.
 */
export async function backtestPolicy(
  { platform }: Pick<ApprovalDeps, 'platform'>,
  { scope, terms }: Pick<PolicyRequest, 'scope' | 'terms'>,
  most: number = BACKTEST_DECISIONS_MAX,
): Promise<PolicyBacktest> {
  const db = platform.database.read;
  const nowMs = platform.now();
  const sinceMs = nowMs - BACKTEST_DAYS * DAY_MS;
  const until = rfc3339(nowMs);
  const isReached = hostsInScope(scope);
  const sum = createBacktestSum();
  let before: string | null = null;
  let oldestMs = nowMs;
  let left: number = most;
  for (;;) {
    const page: PastDecision[] = await pastDecisions(db, { sinceMs, before, limit: PAGE });
    const last = page.at(-1);
    if (!last) return { since: rfc3339(sinceMs), until, cut: false, ...sum.result() };
    before = last.decisionId;
    const reached = (await withTags(db, page, [scope])).filter(isReached);
    const some = reached.slice(0, left);
    await judgeAgain(db, { some, terms, sum });
    left -= some.length;
    oldestMs = some.at(-1)?.decidedAtMs ?? oldestMs;
    if (some.length < reached.length || sum.updates() >= UPDATES_MAX) {
      return { since: rfc3339(oldestMs), until, cut: true, ...sum.result() };
    }
    await takeTurn();
  }
}

async function judgeAgain(
  db: Db,
  given: {
    some: readonly PastDecision[];
    terms: PolicyTerms;
    sum: ReturnType<typeof createBacktestSum>;
  },
): Promise<void> {
  const { some, terms, sum } = given;
  const hosts = new Map(some.map((one) => [one.decisionId, one]));
  const records = (await decisionsByIds(db, [...hosts.keys()])).flatMap((row) => {
    const record = recordOf(row);
    if (!record) sum.addUnreadable();
    return record ?? [];
  });
  const ids = records.flatMap(({ updates }) => updates.map(({ id }) => id));
  const updates = await findUpdates(db, ids);
  const brought = terms.min_age_hours === null ? null : await readBrought(db, records, hosts);
  const isTakenBack = (id: string) => updates.get(id)?.taken_back === 1;
  for (const record of records) {
    const host = hosts.get(record.id);
    if (!host) continue;
    const reason = leftThen(record, terms, { updates, brought: brought?.get(record.id) ?? null });
    sum.add(record, { hostname: host.hostname, decidedAtMs: host.decidedAtMs, reason, isTakenBack });
  }
}

/** Null for a record that was changed: nothing is concluded from it. */
function recordOf(row: DecisionRow): RecordedDecision | null {
  try {
    return readRecord(row);
  } catch (error) {
    if (error instanceof TamperedDecision) return null;
    throw error;
  }
}

/** What the plans of the records bring, by decision; nothing for a plan that is not stored any more. */
async function readBrought(
  db: Db,
  records: readonly RecordedDecision[],
  hosts: ReadonlyMap<string, PastDecision>,
): Promise<Map<string, NonNullable<PastFacts['brought']>>> {
  const planIds = new Set(records.flatMap(({ plan }) => plan?.id ?? []));
  const plans = await readPlans(db, [...planIds]);
  const versions = new Map(
    records.flatMap(({ id, plan, facts: { ecosystem } }) => {
      const stored = plan && plans.get(plan.id);
      if (!stored) return [];
      const osId = hosts.get(id)?.osId ?? '';
      return [[id, plannedVersions({ ecosystem, osId, actions: stored.actions })] as const];
    }),
  );
  const seen = await readFirstSeen(db, [...versions.values()].flat());
  return new Map(
    [...versions].map(([id, some]) => [id, { versions: some, firstSeen: firstSeenOf(some, seen) }]),
  );
}
