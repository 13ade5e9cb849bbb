import { parseStrictJson } from '@tidegate/protocol/strict-json';
import type { Static, TSchema } from 'typebox';
import { Check } from 'typebox/value';
import { type FileTrust, readTrusted } from './file-layer.ts';

/**
 * The document in a file that only a trusted owner could have written. Null where there is no such file, or it has
 * another form: for what is asked for again, or believed only if it is there.
 */
export function readTrustedJson<S extends TSchema>(
  path: string,
  schema: S,
  trust: FileTrust,
): Static<S> | null {
  const read = readTrusted(path, trust);
  const parsed = read.ok ? parseStrictJson(read.bytes) : read;
  return parsed.ok && Check(schema, parsed.value) ? parsed.value : null;
}
