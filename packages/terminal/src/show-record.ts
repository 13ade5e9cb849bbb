import { plainLines, plainText } from './plain-text.ts';

/** Deepest level that is shown as lines; what is deeper is JSON. */
const DEPTH_MAX = 6;
const INDENT = '  ';

/** A JSON value for a person: one line for each member, lists with `-`. What is null, empty or false stays visible. */
export function showRecord(value: unknown): string {
  return linesOf(value, 0).join('\n');
}

function linesOf(value: unknown, depth: number): string[] {
  if (value === null || typeof value !== 'object') return [scalar(value)];
  if (depth > DEPTH_MAX) return [plainText(JSON.stringify(value))];
  if (Array.isArray(value)) return value.flatMap((each) => item(each, depth));
  return Object.entries(value).flatMap(([name, each]) => member(name, each, depth));
}

function member(name: string, value: unknown, depth: number): string[] {
  const label = `${plainText(name).replaceAll('_', ' ')}:`;
  const short = shortText(value);
  if (short !== null) return [`${label} ${short}`.trimEnd()];
  const lines = typeof value === 'string' ? plainLines(value.trimEnd()) : linesOf(value, depth + 1);
  return [label, ...lines.map((line) => `${INDENT}${line}`)];
}

function item(value: unknown, depth: number): string[] {
  const lines = linesOf(value, depth + 1);
  return lines.map((line, i) => `${i === 0 ? '- ' : INDENT}${line}`);
}

/** What fits on the line of its name: a scalar of one line, nothing, or a list of scalars. */
function shortText(value: unknown): string | null {
  if (typeof value === 'string' && value.trimEnd().includes('\n')) return null;
  if (value === null || typeof value !== 'object') return scalar(value);
  const each = Object.values(value);
  if (each.length === 0) return 'none';
  const isPlain = each.every((one: unknown) => one === null || typeof one !== 'object');
  return Array.isArray(value) && isPlain ? each.map(scalar).join(', ') : null;
}

function scalar(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return plainText(String(value));
}
