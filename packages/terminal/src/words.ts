import type { PolicyScope } from '@tidegate/protocol/policies-api';

/** `2026-12-01 18:30Z` for an RFC 3339 time in UTC. */
export function atMinute(time: string): string {
  return `${time.slice(0, 16).replace('T', ' ')}Z`;
}

/** A name of the API for people: `in_force` is `in force`. */
export function words(name: string): string {
  return name.replaceAll('_', ' ');
}

/** A scope, for people. */
export function scopeText(scope: PolicyScope): string {
  if (scope.kind === 'all') return 'all hosts';
  const { groups, hosts, tags = [] } = scope;
  return [
    ...(groups.length > 0 ? [`groups ${groups.join(', ')}`] : []),
    ...(tags.length > 0 ? [`tags ${tags.join(', ')}`] : []),
    ...(hosts.length > 0 ? [hosts.length === 1 ? '1 host' : `${hosts.length} hosts`] : []),
  ].join(' and ');
}
