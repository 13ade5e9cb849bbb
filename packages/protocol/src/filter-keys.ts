import type { UpdateFilter } from './updates-api.ts';

/**
 * The names of the filter members of updates in filter text, in output order. Without the schemas, which only the
 * parser needs.
 */
export const FILTER_KEYS = {
  state: 'state',
  ecosystem: 'ecosystem',
  name: 'name',
  q: 'q',
  agent_id: 'agent',
  group: 'group',
  tag: 'tag',
  severity: 'severity',
  verdict: 'verdict',
  security: 'security',
  exploited: 'exploited',
  cve: 'cve',
  introduces: 'introduces',
  stays: 'stays',
  fixes: 'fixes',
  fixes_severity: 'fixes-severity',
  fixes_exploited: 'fixes-exploited',
  offer: 'offer',
  max_change: 'max-change',
  alternatives: 'alternatives',
  os: 'os',
  host: 'host',
  since: 'since',
  until: 'until',
} as const satisfies Record<keyof UpdateFilter, string>;
