import type { Finding } from './findings.ts';
import { readJson, type TextFault, type TextResult } from './json.ts';
import { readToml } from './toml.ts';
import { tooLarge } from './values.ts';

/** Longest text of a file, in UTF-16 code units. */
export const MAX_SOURCE = 4 * 1024 * 1024;

export type Format = 'JSON' | 'TOML';

/** Text faults with the format that they are faults of. */
export type FileResult =
  | { readonly ok: true; readonly format: Format; readonly value: unknown }
  | { readonly ok: false; readonly format: Format; readonly faults: readonly TextFault[] };

/** The value of a file in a format. A text that is too long is not looked at. */
export function readText(text: string, format: Format): FileResult {
  if (text.length > MAX_SOURCE) {
    const message = `is longer than ${MAX_SOURCE} characters`;
    return { ok: false, format, faults: [{ path: '', message, offset: 0 }] };
  }
  const result: TextResult = format === 'JSON' ? readJson(text) : readToml(text);
  if (!result.ok) return { ok: false, format, faults: result.faults };
  const fault = format === 'JSON' ? null : tooLarge(result.value);
  if (fault !== null) return { ok: false, format, faults: [{ path: '', message: fault, offset: 0 }] };
  return { ok: true, format, value: result.value };
}

/** The value of a source: of a text, tried as JSON and, where it cannot be that, as TOML; or the value that it is. */
export function readSource(
  source: unknown,
):
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly errors: readonly Finding[] } {
  if (typeof source !== 'string') {
    const fault = tooLarge(source);
    return fault === null
      ? { ok: true, value: source }
      : { ok: false, errors: [{ path: '', message: fault }] };
  }
  const json = readText(source, 'JSON');
  if (json.ok || isJson(source)) return json.ok ? json : { ok: false, errors: findingsOf(json, source) };
  const toml = readText(source, 'TOML');
  if (toml.ok) return toml;
  return { ok: false, errors: [...findingsOf(json, source), ...findingsOf(toml, source)] };
}

/** No TOML begins with a brace, and none has a brace or a line's end after its first bracket. */
function isJson(text: string): boolean {
  return text.length > MAX_SOURCE || /^\s*(\{|\[\s*[{\]]|\[\s*\n)/.test(text);
}

export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Line and column of an offset, both from 1; the column counts characters. */
export function positionOf(text: string, offset: number): Position {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  const line = before.split('\n').length;
  return { line, column: [...before.slice(lineStart)].length + 1 };
}

function findingsOf({ format, faults }: FileResult & { ok: false }, text: string): Finding[] {
  return faults.map(({ path, message, offset }) => {
    const { line, column } = positionOf(text, offset);
    return { path, message: `is not ${format}: line ${line}, column ${column}: ${message}` };
  });
}
