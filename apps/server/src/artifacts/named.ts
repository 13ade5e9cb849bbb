import { pairChunks } from '../platform/db/chunks.ts';
import type { ArtifactIdentity } from './identity-rules.ts';

/** What statements ask by; variant and kind of hash are told apart afterwards. */
export type Named = Pick<ArtifactIdentity, 'scope' | 'name' | 'version'>;

/** By scope, in parts that one statement takes; each name and version is in one of them, once. */
export function byScope(named: readonly Named[]): { scope: string; part: Named[] }[] {
  const scopes = Map.groupBy(new Map(named.map((one) => [keyOf(one), one])).values(), ({ scope }) => scope);
  return [...scopes].flatMap(([scope, all]) => pairChunks(all).map((part) => ({ scope, part })));
}

/** Of rows that were asked for by names and by versions those of which a name has its own version. */
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
