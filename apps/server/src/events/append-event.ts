import { createHash } from 'node:crypto';
import { canonicalJson } from '@tidegate/protocol/canonical-json';
import type { SecurityEventType, Severity, SystemEventType } from '@tidegate/protocol/event-types';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';

interface EventBase {
  severity: Severity;
  /** The part of the service that reports, such as `security`, `agents` or `approvals`. */
  component: string;
  agentId?: string | null;
  /** Operator name, `agent`, `sweep` or `server`. */
  actor?: string | null;
  /** Plain JSON without secrets; bounded by the caller. */
  content: Readonly<Record<string, unknown>>;
}

export type NewEvent =
  | (EventBase & { kind: 'security'; type: SecurityEventType })
  | (EventBase & { kind: 'system'; type: SystemEventType });

/** Adds an event to the transaction of the act that it records; the steps of `chain-events.ts` write its row. Returns the id. */
export async function appendEvent(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  event: NewEvent,
): Promise<string> {
  const id = platform.newId();
  tx.context.events.push({
    id,
    kind: event.kind,
    type: event.type,
    severity: event.severity,
    component: event.component,
    agent_id: event.agentId ?? null,
    actor: event.actor ?? null,
    content: JSON.stringify(event.content),
    created_at: platform.now(),
  });
  return id;
}

/** The hash of an event with these columns; content is hashed as the stored text. */
export function hashOfEvent(row: Readonly<Record<string, string | number | null>>): string {
  return createHash('sha256').update(canonicalJson(row)).digest('hex');
}
