import type { Finding } from './findings.ts';
import { readJson, type TextFault, type TextResult } from './json.ts';
import { readToml } from './toml.ts';
import { tooLarge } from './values.ts';

/** Longest text of a file, in UTF-16 code units. */
export const MAX_SOURCE = 4 * 1024 * 1024;

export type Format = 'JSON' | 'TOML';

/** The value of a text in a format. A text that is too long is not looked at. */
export function readText(text: string, format: Format): TextResult {
  if (text.length > MAX_SOURCE) return refused(`is longer than ${MAX_SOURCE} characters`);
  if (format === 'JSON') return readJson(text);
  const result = readToml(text);
  const fault = result.ok ? tooLarge(result.value) : null;
  return fault === null ? result : refused(fault);
}

export interface SourceRead {
  /** Null where there is nothing to go on with. */
  readonly file: { readonly value: unknown } | null;
  readonly errors: readonly Finding[];
}

/** The value of a source: of a text, tried as JSON and, where it cannot be that, as TOML; or the value that it is. */
export function readSource(source: unknown): SourceRead {
  if (typeof source !== 'string') {
    const fault = tooLarge(source);
    return fault === null
      ? { file: { value: source }, errors: [] }
      : { file: null, errors: [{ path: '', message: fault }] };
  }
  const json = readText(source, 'JSON');
  if (json.ok) return { file: json, errors: findingsOf(json.faults, source) };
  const toml = isJson(source) ? null : readText(source, 'TOML');
  if (toml?.ok) return { file: toml, errors: [] };
  return { file: null, errors: findingsOf([...json.faults, ...(toml?.faults ?? [])], source) };
}

/** No TOML begins with a brace, and none has a brace or the end of the line after its first bracket. */
function isJson(text: string): boolean {
  return text.length > MAX_SOURCE || /^\s*(?:\{|\[[ \t]*[{\r\n])/.test(text);
}

export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Line and column of an offset, both from 1; the column counts characters. */
export function positionOf(text: string, offset: number): Position {
  const lineStart = text.lastIndexOf('\n', offset - 1) + 1;
  let line = 1;
  for (let end = text.indexOf('\n'); end >= 0 && end < offset; end = text.indexOf('\n', end + 1)) line += 1;
  return { line, column: [...text.slice(offset === 0 ? 0 : lineStart, offset)].length + 1 };
}

function refused(message: string): TextResult {
  return { ok: false, faults: [{ path: '', message, offset: 0 }] };
}

function findingsOf(faults: readonly TextFault[], text: string): Finding[] {
  return faults.map(({ path, message, offset }) => {
    const { line, column } = positionOf(text, offset);
    return { path, message: `${message} (line ${line}, column ${column})` };
  });
}
