import { counted } from '@tidegate/protocol/count-words';
import { isolated } from '@tidegate/protocol/isolated';
import { NOTICE_UPDATES_MAX } from '@tidegate/protocol/notifications-api';
import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { type HoldInForce, namesPackage } from '../holds/hold-rules.ts';
import { holdsInForce } from '../holds/store.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Db } from '../platform/db/engine.ts';
import { CLOCKS_DIFFER_MS, isWaiting } from '../platform/due.ts';
import { boundedSections, subjectOf } from './compose-rules.ts';
import type { NotificationDeps } from './deps.ts';
import { type ExploitedFix, knownFixes, waitingWith } from './exploited-store.ts';
import { queueDelivery } from './queue-delivery.ts';
import {
  activeRules,
  type EscalationRow,
  escalationsOf,
  isOfMode,
  lockRule,
  putEscalations,
  type Rule,
  type RuleOf,
} from './rule-store.ts';
import { quietUntil } from './time-rules.ts';

const HOUR_MS = 3_600_000;

/** A fix on whose updates nobody has decided. */
export interface Waiting extends ExploitedFix {
  readonly count: number;
  /** Updates that wait besides because somebody placed a hold on the package, which is a decision. */
  readonly held: number;
  readonly ids: readonly string[];
}

/** Tells of exploited fixes on which nobody decided for the hours of a rule, and repeats it so often as the rule says. */
export async function escalate(deps: NotificationDeps): Promise<void> {
  const { platform } = deps;
  for (const rule of await activeRules(platform.database.read)) {
    if (!isOfMode(rule, 'escalation') || quietUntil(rule.quietHours, platform.now()) !== null) continue;
    const overdue = await overdueFixes(platform.database.read, { rule, nowMs: platform.now() });
    const known = await escalationsOf(platform.database.read, rule.id);
    if (dueOf(rule, { overdue, known, nowMs: platform.now() }).length > 0 || isStale(known, overdue)) {
      await escalateRule(deps, rule, overdue);
    }
  }
}

async function escalateRule(
  deps: NotificationDeps,
  rule: RuleOf<'escalation'>,
  overdue: readonly Waiting[],
): Promise<void> {
  const { platform } = deps;
  const nowMs = platform.now();
  await platform.database.transact(async (tx) => {
    if (!(await lockRule(tx, rule.id))) return;
    const known = await escalationsOf(tx, rule.id);
    const due = dueOf(rule, { overdue, known, nowMs });
    await putEscalations(tx, { ruleId: rule.id, rows: rowsAfter(rule, { overdue, known, due, nowMs }) });
    if (due.length === 0) return;
    const { mode, channel_id: channelId } = rule;
    await queueDelivery(
      tx,
      platform,
      {
        ...{ kind: 'escalation', channelId, rule, events: 0 },
        told: describeWaiting(due, { hours: mode.after_hours, nowMs }),
        payload: { fixes: due.map(fixPayload) },
        updateIds: due.flatMap(({ ids }) => ids),
        updateCount: due.reduce((sum, { count }) => sum + count, 0),
      },
      deps,
    );
  });
}

/** Exploited fixes that a rule means and that have waited for its hours: each with the updates that have, too. */
export async function overdueFixes(
  db: Db,
  { rule, nowMs }: { rule: Pick<RuleOf<'escalation'>, 'conditions' | 'mode'>; nowMs: number },
): Promise<Waiting[]> {
  const waiting = await waitingFixes(db, {
    rule,
    nowMs,
    foundBeforeMs: nowMs - rule.mode.after_hours * HOUR_MS,
  });
  return waiting.filter(({ count }) => count > 0);
}

/** Exploited fixes that were known at a time, with the updates that waited then and still do, held ones too. */
export async function waitingFixes(
  db: Db,
  {
    rule: { conditions },
    nowMs,
    foundBeforeMs,
  }: { rule: Pick<Rule, 'conditions'>; nowMs: number; foundBeforeMs: number },
): Promise<Waiting[]> {
  const { ecosystems, groups } = conditions;
  const scope = groups.length > 0 ? groups : null;
  const holds = await holdsInForce(db, nowMs);
  const found: Waiting[] = [];
  for (const fix of await knownFixes(db)) {
    // One that is known since later than now is from a clock that was set back: it has waited long enough.
    if (fix.knownAtMs > foundBeforeMs && fix.knownAtMs <= nowMs + CLOCKS_DIFFER_MS) continue;
    if (ecosystems.length > 0 && !ecosystems.some((one) => one === fix.ecosystem)) continue;
    const held = holds.filter((hold) => holdsFix(hold, fix)).map((hold) => hold.scope);
    const waiting = await waitingWith(db, {
      ...fix,
      scope,
      held,
      foundBeforeMs,
      nowMs,
      limit: NOTICE_UPDATES_MAX,
    });
    if (waiting.count + waiting.held > 0) found.push({ ...fix, ...waiting });
  }
  return found;
}

function holdsFix(hold: HoldInForce, { ecosystem, name }: ExploitedFix): boolean {
  return Value.Check(Ecosystem, ecosystem) && namesPackage(hold, { ecosystem, name });
}

interface Known {
  readonly overdue: readonly Waiting[];
  readonly known: readonly EscalationRow[];
  readonly nowMs: number;
}

function dueOf({ mode }: RuleOf<'escalation'>, { overdue, known, nowMs }: Known): Waiting[] {
  return overdue.filter((fix) => {
    const before = known.find((row) => isOf(row, fix));
    if (!before) return true;
    const longestMs = mode.repeat_hours * HOUR_MS;
    return before.sent <= mode.repeats_max && !isWaiting(before.sent_at + longestMs, { nowMs, longestMs });
  });
}

/** What is not overdue any more begins anew if it returns. */
function rowsAfter(
  { id: ruleId }: Rule,
  { overdue, known, due, nowMs }: Known & { due: readonly Waiting[] },
): EscalationRow[] {
  return overdue.flatMap((fix) => {
    const before = known.find((row) => isOf(row, fix));
    if (!due.includes(fix)) return before ?? [];
    const { ecosystem, name, version } = fix;
    return { rule_id: ruleId, ecosystem, name, version, sent: (before?.sent ?? 0) + 1, sent_at: nowMs };
  });
}

function isStale(known: readonly EscalationRow[], overdue: readonly Waiting[]): boolean {
  return known.some((row) => !overdue.some((fix) => isOf(row, fix)));
}

function isOf(row: EscalationRow, fix: ExploitedFix): boolean {
  return row.ecosystem === fix.ecosystem && row.name === fix.name && row.version === fix.version;
}

function describeWaiting(due: readonly Waiting[], { hours, nowMs }: { hours: number; nowMs: number }) {
  const first = due[0];
  const others = due.length - 1;
  const what = first ? `${packageOf(first)}${others > 0 ? ` and ${others} more` : ''}` : '';
  const updates = due.reduce((sum, { count }) => sum + count, 0);
  return {
    subject: subjectOf(`Nobody decided on an exploited fix for ${counted(hours, 'hour')}: ${what}`),
    severity: 'critical' as const,
    summary: `Updates that fix exploited vulnerabilities have waited for more than ${counted(hours, 'hour')}: ${updates.toLocaleString('en')}. Approving, rejecting and holding are decisions; looking is none.`,
    sections: boundedSections([
      { title: 'Exploited, with a fix that waits', items: due.map((fix) => waitingItem(fix, nowMs)) },
    ]),
  };
}

export function waitingItem(
  { name, version, vulnerabilities, count, held, knownAtMs }: Waiting,
  nowMs: number,
) {
  const hours = Math.floor(Math.max(0, nowMs - knownAtMs) / HOUR_MS);
  const waits = `${counted(count, 'update waits', 'updates wait')}${held > 0 ? `, ${held.toLocaleString('en')} held` : ''}`;
  const text = `${packageOf({ name, version })} fixes ${vulnerabilities.map(isolated).join(', ')}: ${waits}, known for ${counted(hours, 'hour')}`;
  return { text, link: null };
}

export function fixPayload({ ecosystem, name, version, vulnerabilities, count, held, knownAtMs }: Waiting) {
  const counts = { updates_waiting: count, updates_held: held };
  return { package: { ecosystem, name, version }, vulnerabilities, ...counts, known_at: rfc3339(knownAtMs) };
}

function packageOf({ name, version }: Pick<ExploitedFix, 'name' | 'version'>): string {
  return `${isolated(name)} ${isolated(version)}`;
}
