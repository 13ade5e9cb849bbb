import { parse, TomlError } from 'smol-toml';
import type { TextResult } from './json.ts';
import { MAX_DEPTH } from './values.ts';

/** Reads TOML 1.0. Whole numbers past 2^53 come as `bigint`, dates as `Date`: neither is a value of a scope. */
export function readToml(text: string): TextResult {
  try {
    const value = parse(text, {
      integersAsBigInt: 'asNeeded',
      maxDepth: MAX_DEPTH,
      unsafeKeyBehaviour: 'keep',
    });
    return { ok: true, value, faults: [] };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [first = 'is not TOML'] = error.message.split('\n');
    const message = first.replace(/^Invalid TOML document: /, '');
    return {
      ok: false,
      faults: [{ path: '', message: `is not TOML: ${message}`, offset: offsetOf(text, error) }],
    };
  }
}

function offsetOf(text: string, { line, column }: TomlError): number {
  let start = 0;
  for (let i = 1; i < line; i++) start = text.indexOf('\n', start) + 1;
  return start + column - 1;
}
