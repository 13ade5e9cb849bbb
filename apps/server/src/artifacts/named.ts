import { pairChunks } from '../platform/db/chunks.ts';
import type { ArtifactIdentity } from './identity-rules.ts';

/** The columns of a query; variant and kind of hash are filtered afterwards. */
export type Named = Pick<ArtifactIdentity, 'scope' | 'name' | 'version'>;

/** By scope, in parts that fit one statement; each name and version is in exactly one of them. */
export function byScope(named: readonly Named[]): { scope: string; part: Named[] }[] {
  const scopes = Map.groupBy(new Map(named.map((one) => [keyOf(one), one])).values(), ({ scope }) => scope);
  return [...scopes].flatMap(([scope, all]) => pairChunks(all).map((part) => ({ scope, part })));
}

/** A query by names and versions returns their combinations: keeps those that were asked for. */
export function ownRows<R extends Named>(rows: readonly R[], part: readonly Named[]): R[] {
  const own = new Set(part.map(keyOf));
  return rows.filter((row) => own.has(keyOf(row)));
}

function keyOf({ scope, name, version }: Named): string {
  return `${scope}\n${name}\n${version}`;
}

export function namesOf(part: readonly Named[]): string[] {
  return [...new Set(part.map(({ name }) => name))];
}

export function versionsOf(part: readonly Named[]): string[] {
  return [...new Set(part.map(({ version }) => version))];
}
