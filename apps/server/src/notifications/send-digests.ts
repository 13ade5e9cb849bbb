import { counted } from '@tidegate/protocol/count-words';
import type { Severity } from '@tidegate/protocol/event-types';
import { eventWords } from '@tidegate/protocol/event-words';
import { isolated } from '@tidegate/protocol/isolated';
import type { Due } from '../calendar/count-due.ts';
import { daysOf } from '../calendar/day-rules.ts';
import { readCalendar } from '../calendar/read-calendar.ts';
import { readHead } from '../events/store.ts';
import { openUpdates, openUpdatesOf } from '../overview/update-counts-store.ts';
import type { Fresh } from '../platform/keep-fresh.ts';
import { Temporal } from '../platform/temporal.ts';
import { boundedSections, describeEvents, type Sections, subjectOf } from './compose-rules.ts';
import type { NotificationDeps } from './deps.ts';
import { fixPayload, type Waiting, waitingFixes, waitingItem } from './escalate.ts';
import { type KnownEvent, worstOf } from './match-rules.ts';
import { queueDelivery } from './queue-delivery.ts';
import { readMeantEvents } from './read-events.ts';
import { activeRules, isOfMode, moveRule, type RuleOf } from './rule-store.ts';
import { nextDigest, quietUntil } from './time-rules.ts';

/** Failures, and other events, that a digest lists; of more it counts the types. */
const LISTED = 20;
const FAILED = 'update_failed';
const EVENTS_A_STEP = 1_000;
/** The next digest is never later than this: what is was written by a clock that was set back since. */
const NEXT_MAX_MS = 8 * 86_400_000;

export interface DigestDeps extends NotificationDeps {
  /** Approvals that wait for their time. */
  readonly due: Pick<Fresh<Due>, 'get'>;
}
type DigestRule = RuleOf<'digest'>;

/** Sends the digests whose time has come. One that was missed is sent once, when the server runs again. */
export async function sendDigests(deps: DigestDeps, isStopped: () => boolean = () => false): Promise<void> {
  const { platform } = deps;
  for (const rule of await activeRules(platform.database.read)) {
    if (isStopped()) return;
    if (!isOfMode(rule, 'digest')) continue;
    const nowMs = platform.now();
    const atMs = rule.next_digest_at;
    if (atMs === null || (atMs > nowMs && atMs <= nowMs + NEXT_MAX_MS)) continue;
    if (quietUntil(rule.quietHours, nowMs) === null) await sendDigest(deps, { rule, nowMs, isStopped });
  }
}

async function sendDigest(
  deps: DigestDeps,
  { rule, nowMs, isStopped }: { rule: DigestRule; nowMs: number; isStopped: () => boolean },
): Promise<void> {
  const { platform, base } = deps;
  const since = await countSince(deps, { rule, isStopped });
  if (since === null) return;
  const facts = await digestFacts(deps, { rule, nowMs });
  const failed = since.types.get(FAILED) ?? 0;
  const sections: Sections = [
    { title: 'Waits', items: facts.waits },
    { title: 'Failed', items: failedItems(since.failed, { base, total: failed }) },
    { title: 'Due', items: facts.due },
    { title: 'Exploited', items: facts.fixes.map((fix) => waitingItem(fix, nowMs)) },
    { title: 'Events since the last digest', items: typeItems(since.types) },
  ].filter(({ items }) => items.length > 0);
  const unheld = facts.fixes.filter(({ count }) => count > 0);
  const summary = `${counted(facts.pending, 'update waits', 'updates wait')}, ${failed.toLocaleString('en')} failed since the last digest, ${counted(unheld.length, 'exploited vulnerability has', 'exploited vulnerabilities have')} a fix that waits.`;
  await platform.database.transact(async (tx) => {
    const nextDigestAt = nextDigest(rule.mode, nowMs);
    if (!(await moveRule(tx, rule, { position: since.position, nextDigestAt }))) return;
    await queueDelivery(
      tx,
      platform,
      {
        ...{ kind: 'digest', channelId: rule.channel_id, rule, events: since.total },
        told: {
          ...{ subject: subjectOf(`Digest: ${summary}`), summary },
          severity: unheld.length > 0 ? 'critical' : since.worst,
          sections: boundedSections(sections),
        },
        payload: {
          ...{ waiting: facts.pending, failed, fixes: facts.fixes.map(fixPayload) },
          events_by_type: Object.fromEntries(mostFirst(since.types)),
        },
        updateIds: facts.fixes.flatMap(({ ids }) => ids),
        updateCount: facts.fixes.reduce((sum, { count }) => sum + count, 0),
      },
      deps,
    );
  });
}

interface Since {
  readonly total: number;
  readonly types: ReadonlyMap<string, number>;
  readonly worst: Severity;
  /** The first failures. */
  readonly failed: readonly KnownEvent[];
  readonly position: number;
}

/** Counts the events that a rule means since its last digest, in steps: memory holds one. Null: the server stops. */
async function countSince(
  { platform }: DigestDeps,
  { rule, isStopped }: { rule: DigestRule; isStopped: () => boolean },
): Promise<Since | null> {
  const db = platform.database.read;
  const head = (await readHead(db))?.position ?? 0;
  const types = new Map<string, number>();
  const failed: KnownEvent[] = [];
  let { position } = rule;
  let worst: Severity = 'info';
  let total = 0;
  while (position < head) {
    if (isStopped()) return null;
    const { conditions } = rule;
    const found = await readMeantEvents(db, { conditions, after: position, head, limit: EVENTS_A_STEP });
    for (const { type } of found.events) types.set(type, (types.get(type) ?? 0) + 1);
    const failures = found.events.filter(({ type }) => type === FAILED);
    failed.push(...failures.slice(0, LISTED - failed.length));
    worst = worstOf([worst, ...found.events.map(({ severity }) => severity)]);
    total += found.events.length;
    position = found.position;
  }
  return { total, types, worst, failed, position: head };
}

interface DigestFacts {
  readonly pending: number;
  readonly waits: Sections[number]['items'];
  readonly due: Sections[number]['items'];
  readonly fixes: readonly Waiting[];
}

/** The fleet as it is, or the groups of the rule. */
async function digestFacts(
  deps: DigestDeps,
  { rule, nowMs }: { rule: DigestRule; nowMs: number },
): Promise<DigestFacts> {
  const db = deps.platform.database.read;
  const { groups } = rule.conditions;
  const counts = { pending: 0, awaiting_plan: 0, failed: 0, fixing: 0 };
  for await (const part of groups.length > 0 ? openUpdatesOf(db, { scope: groups }) : openUpdates(db)) {
    for (const { state, exposed, updates } of part) {
      if (state === 'pending' || state === 'awaiting_plan' || state === 'failed') counts[state] += updates;
      if (state === 'pending' && exposed) counts.fixing += updates;
    }
  }
  const fixes = await waitingFixes(db, { rule, nowMs, foundBeforeMs: nowMs });
  const link = deps.base === null ? null : `${deps.base}/updates`;
  const waits = [
    { text: `${counted(counts.pending, 'update waits', 'updates wait')} for a decision`, link },
    { text: `${counted(counts.fixing, 'of them fixes', 'of them fix')} known vulnerabilities`, link },
    { text: `${counted(counts.failed, 'update has', 'updates have')} failed`, link },
  ];
  return {
    pending: counts.pending,
    waits,
    due: groups.length > 0 ? [] : await dueItems(deps, { rule, nowMs }),
    fixes,
  };
}

const DUE_WORDS = {
  window: 'Window of',
  blackout: 'Blackout',
  policy_ends: 'End of the policy',
  hold_ends: 'End of the hold of',
  approvals_begin: 'Approvals begin',
  approvals_expire: 'Approvals expire',
};

/** What the calendar has for the day of the digest and the next one. */
async function dueItems(deps: DigestDeps, { rule, nowMs }: { rule: DigestRule; nowMs: number }) {
  const { zone } = rule.mode;
  const from = Temporal.Instant.fromEpochMilliseconds(nowMs)
    .toZonedDateTimeISO(zone)
    .toPlainDate()
    .toString();
  const { entries } = await readCalendar(deps, { days: daysOf({ from, count: 2, zone }), zone });
  return entries
    .filter(({ ends_at: at, live }) => live && Date.parse(at) >= nowMs)
    .map(({ kind, name, count, starts_at: at }) => {
      const many = count === null ? '' : ` (${count})`;
      return { text: `${at} ${DUE_WORDS[kind]} ${isolated(name)}`.trimEnd() + many, link: null };
    });
}

function failedItems(
  events: readonly KnownEvent[],
  { base, total }: Pick<NotificationDeps, 'base'> & { total: number },
): Sections[number]['items'] {
  const { sections } = describeEvents(events, { base });
  const items = sections.flatMap((section) => section.items);
  const more = total - events.length;
  return more > 0 ? [...items, { text: `and ${more.toLocaleString('en')} more`, link: null }] : items;
}

function typeItems(types: Since['types']): Sections[number]['items'] {
  return mostFirst(types)
    .slice(0, LISTED)
    .map(([type, count]) => ({ text: `${eventWords(type)}: ${count.toLocaleString('en')}`, link: null }));
}

function mostFirst(types: Since['types']): [string, number][] {
  return [...types].toSorted(([, a], [, b]) => b - a);
}
