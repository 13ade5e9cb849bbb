import { isolated } from '@tidegate/protocol/isolated';
import {
  MESSAGE_EVENTS_MAX,
  PREVIEW_DAYS,
  PREVIEW_SAMPLES,
  type RulePreview,
  type RuleRequest,
} from '@tidegate/protocol/notifications-api';
import { positionBefore, readHead } from '../events/store.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Platform } from '../platform/platform.ts';
import { takeTurn } from '../platform/turns.ts';
import { eventPayload } from './compose-rules.ts';
import { overdueFixes, waitingItem } from './escalate.ts';
import type { KnownEvent } from './match-rules.ts';
import { readMeantEvents } from './read-events.ts';
import { nextDigest } from './time-rules.ts';

const DAY_MS = 86_400_000;
/** The newest events that a preview looks at. */
const POSITIONS_MAX = 50_000;
const EVENTS_A_STEP = 1_000;

/** What a rule would have sent in the last days. Nothing is sent, and nothing stored. */
export async function previewRule(platform: Platform, request: RuleRequest): Promise<RulePreview> {
  const { mode } = request;
  if (mode.kind === 'escalation') return previewEscalation(platform, { ...request, mode });
  const db = platform.database.read;
  const nowMs = platform.now();
  const sinceMs = nowMs - PREVIEW_DAYS * DAY_MS;
  const head = (await readHead(db))?.position ?? 0;
  const begin = await positionBefore(db, sinceMs);
  const from = Math.max(begin, head - POSITIONS_MAX);
  let matches = 0;
  let newest: KnownEvent[] = [];
  const batches = createBatches(mode.kind === 'at_once' ? mode.batch_seconds * 1_000 : 0);
  for (let after = from; after < head; ) {
    await takeTurn();
    const { conditions } = request;
    const found = await readMeantEvents(db, { conditions, after, head, limit: EVENTS_A_STEP });
    matches += found.events.length;
    for (const event of found.events) batches.add(event);
    newest = [...newest, ...found.events].slice(-PREVIEW_SAMPLES);
    after = found.position;
  }
  const samples = newest.toReversed().map((event) => {
    const { at, severity, text, host } = eventPayload(event);
    return {
      at,
      severity: event.severity ?? severity,
      text: host === null ? text : `${isolated(host.name)}: ${text}`,
    };
  });
  const messages = mode.kind === 'digest' ? countDigests(mode, { sinceMs, nowMs }) : batches.count();
  return { since: rfc3339(sinceMs), matches, messages, is_complete: from === begin, samples };
}

async function previewEscalation(
  platform: Platform,
  rule: Parameters<typeof overdueFixes>[1]['rule'],
): Promise<RulePreview> {
  const nowMs = platform.now();
  const overdue = await overdueFixes(platform.database.read, { rule, nowMs });
  const samples = overdue.slice(0, PREVIEW_SAMPLES).map((fix) => ({
    ...{ at: rfc3339(fix.knownAtMs), severity: 'critical' as const, text: waitingItem(fix, nowMs).text },
  }));
  return {
    since: rfc3339(nowMs - PREVIEW_DAYS * DAY_MS),
    ...{ matches: overdue.length, messages: overdue.length > 0 ? 1 : 0, is_complete: true, samples },
  };
}

/** Counts messages as `takeEvents` makes them, without quiet hours. */
function createBatches(windowMs: number) {
  let count = 0;
  let held = 0;
  let endMs = -Infinity;
  return {
    add({ atMs }: KnownEvent) {
      if (held === 0 || held === MESSAGE_EVENTS_MAX || atMs > endMs) {
        count += 1;
        held = 0;
        endMs = atMs + windowMs;
      }
      held += 1;
    },
    count: () => count,
  };
}

function countDigests(
  mode: Parameters<typeof nextDigest>[0],
  { sinceMs, nowMs }: { sinceMs: number; nowMs: number },
): number {
  let count = 0;
  for (let at = nextDigest(mode, sinceMs); at <= nowMs; at = nextDigest(mode, at)) count += 1;
  return count;
}
