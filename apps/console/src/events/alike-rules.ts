import { narrativeOf } from '@tidegate/protocol/event-narratives';
import type { EventItem } from './event-item.ts';

/** An event of a list, with those after it that say the same of the same host: one row instead of dozens. */
export interface EventRow extends EventItem {
  readonly alike: readonly EventItem[];
}

/** The events of a page in their order; each is in exactly one row, so that nothing is lost. */
export function rowsOfAlike(events: readonly EventItem[]): EventRow[] {
  const rows: (EventItem & { alike: EventItem[] })[] = [];
  for (const event of events) {
    const last = rows.at(-1);
    if (last && saysOf(last) === saysOf(event)) last.alike.push(event);
    else rows.push({ ...event, alike: [] });
  }
  return rows;
}

function saysOf(event: EventItem): string {
  const { type, severity, agent_id, actor } = event;
  return JSON.stringify([type, severity, agent_id, actor, narrativeOf(event)]);
}
