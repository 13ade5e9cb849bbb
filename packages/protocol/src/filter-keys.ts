import type { UpdateFilter } from './updates-api.ts';

/**
 * What each part of a filter of updates is called where people read and write it, in the order in which its text names
 * them. Without the schemas, which are read where a text is parsed.
 */
export const FILTER_KEYS = {
  state: 'state',
  ecosystem: 'ecosystem',
  name: 'name',
  q: 'q',
  agent_id: 'agent',
  group: 'group',
  severity: 'severity',
  verdict: 'verdict',
  security: 'security',
  exploited: 'exploited',
  os: 'os',
  host: 'host',
  since: 'since',
  until: 'until',
} as const satisfies Record<keyof UpdateFilter, string>;
