import { chunks } from '../platform/db/chunks.ts';
import type { ArtifactIdentity } from './identity-rules.ts';

/** What statements ask by; variant and kind of hash are told apart afterwards. */
export type Named = Pick<ArtifactIdentity, 'scope' | 'name' | 'version'>;

/** By scope, in parts that one statement takes. */
export function byScope(named: readonly Named[]): { scope: string; part: Named[] }[] {
  const scopes = Map.groupBy(named, ({ scope }) => scope);
  return [...scopes].flatMap(([scope, all]) => chunks(all).map((part) => ({ scope, part })));
}

export function namesOf(part: readonly Named[]): string[] {
  return [...new Set(part.map(({ name }) => name))];
}

export function versionsOf(part: readonly Named[]): string[] {
  return [...new Set(part.map(({ version }) => version))];
}
