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
/** Events since the last digest that one digest looks at; of more, it says that there are more. */
const EVENTS_MAX = 10_000;
const EVENTS_A_STEP = 1_000;

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
    if (rule.next_digest_at === null || rule.next_digest_at > nowMs) continue;
    if (quietUntil(rule.quietHours, nowMs) === null) await sendDigest(deps, rule, nowMs);
  }
}

async function sendDigest(deps: DigestDeps, rule: DigestRule, nowMs: number): Promise<void> {
  const { platform, base } = deps;
  const since = await eventsSince(deps, rule);
  const facts = await digestFacts(deps, { rule, nowMs });
  const failed = since.events.filter(({ type }) => type === 'update_failed');
  const sections: Sections = [
    { title: 'Waits', items: facts.waits },
    { title: 'Failed', items: eventItems(failed, base) },
    { title: 'Due', items: facts.due },
    { title: 'Exploited', items: facts.fixes.map((fix) => waitingItem(fix, nowMs)) },
    {
      title: since.isComplete ? 'Events since the last digest' : 'Events (there are more)',
      items: typeItems(since.events),
    },
  ].filter(({ items }) => items.length > 0);
  const summary = `${facts.pending.toLocaleString('en')} updates wait, ${failed.length} failed since the last digest, ${facts.fixes.length} exploited vulnerabilities have a fix that waits.`;
  await platform.database.transact(async (tx) => {
    const nextDigestAt = nextDigest(rule.mode, nowMs);
    if (!(await moveRule(tx, rule, { position: since.position, nextDigestAt }))) return;
    await queueDelivery(
      tx,
      platform,
      {
        ...{ kind: 'digest', channelId: rule.channel_id, rule, events: since.events.length },
        told: {
          ...{ subject: subjectOf(`Digest: ${summary}`), summary },
          severity:
            facts.fixes.length > 0 ? 'critical' : worstOf(since.events.map(({ severity }) => severity)),
          sections: boundedSections(sections),
        },
        payload: {
          ...{ waiting: facts.pending, failed: failed.length, fixes: facts.fixes.map(fixPayload) },
          events_by_type: Object.fromEntries(countsOfTypes(since.events)),
        },
        updateIds: facts.fixes.flatMap(({ ids }) => ids),
        updateCount: facts.fixes.reduce((sum, { count }) => sum + count, 0),
      },
      deps,
    );
  });
}

async function eventsSince({ platform }: DigestDeps, rule: DigestRule) {
  const db = platform.database.read;
  const head = (await readHead(db))?.position ?? 0;
  const events: KnownEvent[] = [];
  let position = rule.position;
  while (position < head && events.length < EVENTS_MAX) {
    const { conditions } = rule;
    const found = await readMeantEvents(db, { conditions, after: position, head, limit: EVENTS_A_STEP });
    events.push(...found.events);
    position = found.position;
  }
  // The next digest begins behind them all, so that one busy night does not fill the digests of a week.
  return { events, position: head, isComplete: position >= head };
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
  const fixes = await waitingFixes(db, { rule, foundBeforeMs: nowMs });
  const link = deps.base === null ? null : `${deps.base}/updates`;
  const waits = [
    { text: `${counts.pending.toLocaleString('en')} updates wait for a decision`, link },
    { text: `${counts.fixing.toLocaleString('en')} of them fix known vulnerabilities`, link },
    { text: `${counts.failed.toLocaleString('en')} updates have failed`, link },
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
      return { text: `${at} ${DUE_WORDS[kind]} ${name}`.trimEnd() + many, link: null };
    });
}

function eventItems(
  events: readonly KnownEvent[],
  base: NotificationDeps['base'],
): Sections[number]['items'] {
  const { sections } = describeEvents(events.slice(0, LISTED), { base });
  const items = sections.flatMap((section) => section.items);
  const more = events.length - LISTED;
  return more > 0 ? [...items, { text: `and ${more.toLocaleString('en')} more`, link: null }] : items;
}

function typeItems(events: readonly KnownEvent[]): Sections[number]['items'] {
  return countsOfTypes(events)
    .slice(0, LISTED)
    .map(([type, count]) => ({ text: `${type}: ${count.toLocaleString('en')}`, link: null }));
}

function countsOfTypes(events: readonly KnownEvent[]): [string, number][] {
  const counts = [...Map.groupBy(events, ({ type }) => type)].map(
    ([type, some]) => [type, some.length] as const,
  );
  return counts.toSorted((a, b) => b[1] - a[1]).map(([type, count]) => [type, count]);
}
