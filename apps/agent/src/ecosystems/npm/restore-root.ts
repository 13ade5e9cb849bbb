import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import type { Parsed } from './lockfile.ts';

const Document = Type.Object({ packages: Type.Record(Type.String(), Type.Unknown()) });
/** What a lockfile says of the project itself. */
const OWN = ['name', 'version'] as const;
const INDENT = /^([ \t]+)"/m;

/**
 * Restores the project's own root entry in a lockfile that was resolved for a pinned copy: package.json stays
 * unchanged, and so must its copy in the lockfile.
 */
export function restoreRoot(resolved: string, original: string): Parsed<string> {
  const [fresh, old] = [parseStrictJson(resolved), parseStrictJson(original)];
  if (!fresh.ok || !old.ok || !Check(Document, fresh.value) || !Check(Document, old.value)) {
    return { ok: false, reason: 'npm wrote a lockfile that cannot be read' };
  }
  const own = Object.fromEntries(
    Object.entries(old.value).filter(([key]) => OWN.some((name) => name === key)),
  );
  const rest = Object.fromEntries(
    Object.entries(fresh.value).filter(([key]) => !OWN.some((name) => name === key)),
  );
  const packages = { ...fresh.value.packages, '': old.value.packages[''] };
  const indent = INDENT.exec(original)?.[1] ?? '  ';
  return { ok: true, value: `${JSON.stringify({ ...own, ...rest, packages }, null, indent)}\n` };
}
