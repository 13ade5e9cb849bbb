import { MESSAGE_EVENTS_MAX } from '@tidegate/protocol/notifications-api';
import { appendEvent } from '../events/append-event.ts';
import { newestAnchor, readHead } from '../events/store.ts';
import { isWaiting } from '../platform/due.ts';
import { describeEvents, eventPayload, fittingEvents } from './compose-rules.ts';
import { countWaiting } from './delivery-store.ts';
import type { NotificationDeps } from './deps.ts';
import { type KnownEvent, updateIdsOf } from './match-rules.ts';
import { queueDelivery } from './queue-delivery.ts';
import { readMeantEvents } from './read-events.ts';
import { activeRules, isOfMode, moveRule, type RuleOf } from './rule-store.ts';
import { quietUntil } from './time-rules.ts';

/** Messages of one rule that wait at once. Until they are delivered its events wait in the log, which bounds both. */
const WAITING_MAX = 20;
/** Messages that one pass makes for one rule. */
const MESSAGES_A_PASS = 10;
/** How far, and how long, a rule without a match moves on in memory alone. */
const UNWRITTEN_MAX = 1_000;
const UNWRITTEN_MS = 10 * 60_000;

/** What a pass need not look at again: of one rule, in its version of `updatedAt`. */
interface Look {
  readonly updatedAt: number;
  /** Nothing up to here means anything to the rule. */
  readonly position: number;
  /** Events share a message until then. */
  readonly untilMs: number;
  /** When the rule's place was last written. */
  readonly writtenMs: number;
}
export type Looks = Map<string, Look>;

/**
 * Makes messages of what the log has for the rules that send at once. A rule's place in the log is stored with its
 * message in one transaction: each event is in one message, whenever the server dies and however many there are.
 */
export async function takeEvents(
  deps: NotificationDeps,
  looks: Looks,
  isStopped: () => boolean = () => false,
): Promise<void> {
  const { platform } = deps;
  const rules = await activeRules(platform.database.read);
  const head = (await readHead(platform.database.read))?.position ?? 0;
  const start = (await newestAnchor(platform.database.read))?.position ?? 0;
  const ids = new Set(rules.map(({ id }) => id));
  for (const id of looks.keys()) if (!ids.has(id)) looks.delete(id);
  for (const rule of rules) {
    if (isStopped()) return;
    if (!isOfMode(rule, 'at_once')) continue;
    await takeForRule(deps, { rule, start, head, looks });
  }
}

async function takeForRule(
  deps: NotificationDeps,
  { rule, start, head, looks }: { rule: RuleOf<'at_once'>; start: number; head: number; looks: Looks },
): Promise<void> {
  const { platform } = deps;
  const nowMs = platform.now();
  const known = looks.get(rule.id);
  const isCurrent = known?.updatedAt === rule.updated_at && known.position >= rule.position;
  const wait = { nowMs, longestMs: rule.mode.batch_seconds * 1_000 };
  if (isCurrent && isWaiting(known.untilMs, wait)) return;
  if (quietUntil(rule.quietHours, nowMs) !== null) return;
  let position = isCurrent ? known.position : rule.position;
  let stored = rule.position;
  let writtenMs = isCurrent ? known.writtenMs : 0;
  const look = (untilMs = 0) =>
    looks.set(rule.id, { updatedAt: rule.updated_at, position, untilMs, writtenMs });
  if (position < start) {
    if (!(await tellMissed(deps, { rule, position, start }))) return;
    position = start;
    stored = start;
  }
  let room: number | null = null;
  for (let messages = 0; messages < MESSAGES_A_PASS && position < head; messages += 1) {
    const { conditions } = rule;
    const found = await readMeantEvents(platform.database.read, {
      ...{ conditions, after: position, head, limit: MESSAGE_EVENTS_MAX },
    });
    const meant = found.events.filter((event) => !isAboutChannel(event, rule.channel_id));
    const [first] = meant;
    if (first === undefined) {
      position = found.position;
      if (position - stored > UNWRITTEN_MAX || nowMs - writtenMs > UNWRITTEN_MS) {
        const moved = { ...rule, position: stored };
        if (!(await platform.database.transact((tx) => moveRule(tx, moved, { position })))) return;
        stored = position;
        writtenMs = nowMs;
      }
      continue;
    }
    const fitting = fittingEvents(meant);
    const isFull = fitting.length < meant.length || meant.length === MESSAGE_EVENTS_MAX;
    const untilMs = first.atMs + rule.mode.batch_seconds * 1_000;
    if (!isFull && isWaiting(untilMs, wait)) return void look(untilMs);
    room ??= WAITING_MAX - (await countWaiting(platform.database.read, rule.id));
    if (room <= 0) break;
    const last = fitting.at(-1);
    const to = fitting.length < meant.length && last ? last.position : found.position;
    const isMine = await platform.database.transact(async (tx) => {
      if (!(await moveRule(tx, { ...rule, position: stored }, { position: to }))) return false;
      await queueDelivery(tx, platform, deliveryOf(rule, fitting, deps), deps);
      return true;
    });
    if (!isMine) return;
    room -= 1;
    position = to;
    stored = to;
    writtenMs = nowMs;
  }
  look();
}

/** Events were removed from the log before the rule had sent them. False if another server has moved the rule. */
async function tellMissed(
  { platform }: NotificationDeps,
  { rule, position, start }: { rule: RuleOf<'at_once'>; position: number; start: number },
): Promise<boolean> {
  return platform.database.transact(async (tx) => {
    if (!(await moveRule(tx, rule, { position: start }))) return false;
    const place = { position, continues_after: start, missed: start - position };
    await appendEvent(tx, platform, {
      ...{ kind: 'system', type: 'events_missed', severity: 'warning', component: 'notifications' },
      ...{ actor: 'server', content: { follower: `the rule ${rule.name}`, ...place } },
    });
    return true;
  });
}

/** A channel is not told of its own failures: the message would be the next to fail. */
function isAboutChannel({ type, content }: KnownEvent, channelId: string): boolean {
  if (type !== 'notification_channel_failing' && type !== 'notification_channel_recovered') return false;
  return typeof content === 'object' && content !== null && Reflect.get(content, 'channel_id') === channelId;
}

function deliveryOf(rule: RuleOf<'at_once'>, events: readonly KnownEvent[], { base }: NotificationDeps) {
  return {
    ...{ kind: 'events' as const, channelId: rule.channel_id, rule, events: events.length },
    told: describeEvents(events, { base }),
    payload: { events: events.map(eventPayload) },
    updateIds: events.flatMap(({ content }) => updateIdsOf(content)),
  };
}
