import { SEVERITIES, type Severity } from '@tidegate/protocol/event-types';
import type { RuleConditions } from '@tidegate/protocol/notifications-api';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { readListed } from '../advisories/exploited/store.ts';
import { type HostedEvent, pageOfHostedEvents } from '../events/store.ts';
import type { Db } from '../platform/db/engine.ts';
import { findUpdates } from '../updates/many-store.ts';
import {
  type Exploitation,
  isMeant,
  type KnownEvent,
  severitiesFrom,
  updateIdsOf,
  vulnerabilitiesOf,
} from './match-rules.ts';

/** Rows of the log that one statement reads. */
const PAGE_EVENTS = 500;
/** Positions of the log that one look spans: its cost is bounded also where a rule means nearly nothing. */
const SPAN_POSITIONS = 5_000;
const NOTHING: Exploitation = { cves: new Set(), updates: new Set() };

export interface Found {
  readonly events: readonly KnownEvent[];
  /** Everything up to here was looked at. */
  readonly position: number;
}

/** The next events that conditions mean, at most `limit`, in the order of the log. */
export async function readMeantEvents(
  db: Db,
  {
    conditions,
    after,
    head,
    limit,
  }: { conditions: RuleConditions; after: number; head: number; limit: number },
): Promise<Found> {
  const until = Math.min(head, after + SPAN_POSITIONS);
  const types = conditions.event_types.length > 0 ? conditions.event_types : null;
  const severities = severitiesFrom(conditions.minimum_severity);
  const events: KnownEvent[] = [];
  let position = after;
  while (position < until) {
    const rows = await pageOfHostedEvents(db, {
      after: position,
      until,
      types,
      severities,
      limit: PAGE_EVENTS,
    });
    const known = rows.map(knownEvent);
    const exploited = conditions.exploited_only ? await exploitationOf(db, known) : NOTHING;
    for (const event of known) {
      if (!isMeant(event, { conditions, exploited })) continue;
      if (events.length === limit) return { events, position: event.position - 1 };
      events.push(event);
    }
    position = rows.length < PAGE_EVENTS ? until : (rows.at(-1)?.position ?? until);
  }
  return { events, position: until };
}

function knownEvent(row: HostedEvent): KnownEvent {
  const content = parseStrictJson(row.content);
  const { id, position, type, created_at: atMs, actor, agent_id: agentId } = row;
  return {
    ...{ id, position: Number(position), type, atMs: Number(atMs), actor },
    severity: severityOf(row.severity),
    host: agentId === null ? null : { id: agentId, name: row.hostname ?? agentId, group: row.group_name },
    content: content.ok ? content.value : null,
  };
}

function severityOf(text: string): Severity {
  return SEVERITIES.find((one) => one === text) ?? 'info';
}

async function exploitationOf(db: Db, events: readonly KnownEvent[]): Promise<Exploitation> {
  const named = events.flatMap(({ content }) => vulnerabilitiesOf(content));
  const updates = await findUpdates(db, [...new Set(events.flatMap(({ content }) => updateIdsOf(content)))]);
  return {
    cves: await readListed(db, named),
    updates: new Set([...updates.values()].filter((row) => row.known_exploited === 1).map(({ id }) => id)),
  };
}
