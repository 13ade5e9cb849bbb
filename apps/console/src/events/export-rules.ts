import type { EventItem } from './event-item.ts';

export type ExportFormat = 'jsonl' | 'csv';

/** The most events that the browser exports; `tidegate events export` exports all. */
export const EXPORT_MAX = 10_000;

const COLUMNS = [
  'id',
  'created_at',
  'kind',
  'type',
  'severity',
  'component',
  'agent_id',
  'hostname',
  'actor',
  'position',
  'previous_hash',
  'hash',
] as const;

/** The events as a file; each JSON line holds an event as the server returned it. */
export function exportText(events: readonly EventItem[], format: ExportFormat): string {
  if (format === 'jsonl') return events.map((event) => `${JSON.stringify(event)}\n`).join('');
  const rows = events.map((event) => [
    ...COLUMNS.map((name) => String(event[name] ?? '')),
    JSON.stringify(event.content),
  ]);
  return [[...COLUMNS, 'content'], ...rows].map((row) => `${row.map(csvCell).join(',')}\r\n`).join('');
}

/**
 * A CSV cell (RFC 4180). Agents write some of these texts: one that a spreadsheet would read as a formula gets a
 * leading apostrophe.
 */
export function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
