import type { Grant, Mapping } from '@tidegate/protocol/identity-providers-api';
import { ROLES } from '@tidegate/protocol/states';

/**
 * What an account may do: the rules of the highest role that match it, their groups of hosts added up. A lower role never
 * widens the reach of a higher one. Without a match the default; null is no access.
 */
export function grantOf(
  { mapping, defaultGrant }: { mapping: Mapping; defaultGrant: Grant | null },
  groups: readonly string[],
): Grant | null {
  const held = new Set(groups);
  const matching = mapping.filter(({ group }) => held.has(group));
  const role = [...ROLES].reverse().find((one) => matching.some((rule) => rule.role === one));
  if (role === undefined) return defaultGrant;
  const reaches = matching.filter((rule) => rule.role === role).map((rule) => rule.groups);
  if (reaches.includes(null)) return { role, groups: null };
  return { role, groups: [...new Set(reaches.flatMap((reach) => reach ?? []))].sort() };
}
