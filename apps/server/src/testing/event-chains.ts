import { hashOfEvent } from '../events/append-event.ts';
import type { EventRow } from '../events/store.ts';
import type { Pin } from '../events/verify-chain.ts';

/** An event to append where any will do. */
export const EVENT = {
  kind: 'security',
  type: 'MACHINE_BOUND',
  severity: 'info',
  component: 'agents',
  content: {},
} as const;

/** A chain of so many events, from its first; `extra` changes rows before they are hashed. */
export function chainOf(length: number, extra: Readonly<Record<number, Partial<EventRow>>> = {}): EventRow[] {
  const rows: EventRow[] = [];
  for (let position = 1; position <= length; position++) {
    const row: Omit<EventRow, 'hash'> = {
      position,
      id: `id-${position}`,
      kind: 'security',
      type: 'MACHINE_BOUND',
      severity: 'info',
      component: 'agents',
      agent_id: null,
      actor: 'agent',
      content: JSON.stringify({ position }),
      created_at: 1_800_000_000_000 + position,
      previous_hash: rows.at(-1)?.hash ?? null,
      ...extra[position],
    };
    rows.push({ ...row, hash: hashOfEvent(row) });
  }
  return rows;
}

/** The row with the hash that fits its content. */
export function sealed({ hash: _, ...row }: EventRow): EventRow {
  return { ...row, hash: hashOfEvent(row) };
}

export function pinOf(row: EventRow, epoch = 1): Pin {
  return { position: row.position, hash: row.hash, epoch, source: `checkpoint ${row.position}` };
}
