import { hash } from 'node:crypto';
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
export function hashOfEvent(row: Row): string {
  return hash('sha256', canonicalRow(row));
}

type Row = Readonly<Record<string, string | number | null>>;

/** The columns of the log, sorted, with the text before each value. */
const COLUMNS = [
  'actor',
  'agent_id',
  'component',
  'content',
  'created_at',
  'id',
  'kind',
  'position',
  'previous_hash',
  'severity',
  'type',
].map((name, i) => ({ name, before: `${i === 0 ? '{' : ','}"${name}":` }));

/** The text that `canonicalJson` writes of a row of the log, for a quarter of its time; every other row goes to it. */
export function canonicalRow(row: Row): string {
  if (Object.keys(row).length !== COLUMNS.length) return canonicalJson(row);
  let text = '';
  for (const { name, before } of COLUMNS) {
    const value = row[name];
    if (typeof value === 'string' && value.isWellFormed()) text += before + JSON.stringify(value);
    else if (value === null || Number.isSafeInteger(value)) text += before + value;
    else return canonicalJson(row);
  }
  return `${text}}`;
}
