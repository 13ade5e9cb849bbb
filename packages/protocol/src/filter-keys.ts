import type { HostFilter } from './agents-api.ts';
import type { UpdateFilter } from './updates-api.ts';

/**
 * The names of the filter members of updates in filter text, in output order. Without the schemas, which only the
 * parser needs.
 */
export const FILTER_KEYS = {
  state: 'state',
  open: 'open',
  ecosystem: 'ecosystem',
  name: 'name',
  q: 'q',
  agent_id: 'agent',
  group: 'group',
  tag: 'tag',
  severity: 'severity',
  verdict: 'verdict',
  stopped_under: 'stopped-under',
  blocked: 'blocked',
  security: 'security',
  held: 'held',
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

/** The same of hosts. */
export const HOST_FILTER_KEYS = {
  status: 'status',
  group: 'group',
  tag: 'tag',
  os: 'os',
  ecosystem: 'ecosystem',
  q: 'q',
  cve: 'cve',
  package: 'package',
  below: 'below',
  reboot: 'reboot',
  services_restart: 'services-restart',
  up_to_date: 'up-to-date',
  lists: 'lists',
  clock: 'clock',
  probes: 'probes',
  online: 'online',
  clone_suspected: 'clone-suspected',
  agent_version: 'agent-version',
} as const satisfies Record<keyof HostFilter, string>;
