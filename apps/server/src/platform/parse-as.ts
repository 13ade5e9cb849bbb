import { parseStrictJson } from '@tidegate/protocol/strict-json';
import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';

/** The value if the text is JSON of that shape; null otherwise. */
export function parseAs<T extends TSchema>(schema: T, text: string): Static<T> | null {
  const json = parseStrictJson(text);
  return json.ok && Value.Check(schema, json.value) ? json.value : null;
}
