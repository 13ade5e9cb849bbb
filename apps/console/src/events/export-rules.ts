import type { EventItem } from './event-item.ts';

export type ExportFormat = 'jsonl' | 'csv';

/** Most events that the browser gathers into one file; more than that is for `tidegate events export`. */
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

/** The file of these events; each line of JSON holds the content as the server answered it. */
export function exportText(events: readonly EventItem[], format: ExportFormat): string {
  if (format === 'jsonl') return events.map((event) => `${JSON.stringify(event)}\n`).join('');
  const rows = events.map((event) => [
    ...COLUMNS.map((name) => String(event[name] ?? '')),
    JSON.stringify(event.content),
  ]);
  return [[...COLUMNS, 'content'], ...rows].map((row) => `${row.map(csvCell).join(',')}\r\n`).join('');
}

/**
 * A cell as RFC 4180 has it. Agents write some of these texts: one that a spreadsheet would take for a formula gets
 * an apostrophe before it.
 */
export function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
