import type { PolicyScope } from '@tidegate/protocol/policies-api';

/** Whether a host is one of a scope. */
export function hostsInScope(
  scope: PolicyScope,
): (host: { readonly id: string; readonly group: string | null }) => boolean {
  if (scope.kind === 'all') return () => true;
  const [groups, hosts] = [new Set(scope.groups), new Set(scope.hosts)];
  return ({ id, group }) => hosts.has(id) || (group !== null && groups.has(group));
}
