import { AGENT_SORTS, HOST_STATUSES } from '@tidegate/protocol/agents-api';
import { EVENT_SORTS } from '@tidegate/protocol/events-api';
import { PROBES_STATES } from '@tidegate/protocol/probes';
import { PACKAGE_SORTS, UPDATE_SORTS, UPDATED_HOST_SORTS } from '@tidegate/protocol/updates-api';

export interface ListQuery {
  readonly list: string;
  readonly query: string;
  /** Whether it was measured on 22 November 2026 too: its figures can be held against those. */
  readonly isFirst: boolean;
}

/** Placeholder for the id of an existing host. */
export const A_HOST = '%host';

const FIRST_UPDATE_FILTERS = [
  'state=pending',
  'state=failed',
  'ecosystem=apt',
  'ecosystem=pypi',
  'name=package-0',
  'name=package-3900',
  'q=age-77',
  'q=package',
  'q=nothing',
  `agent_id=${A_HOST}`,
  'group=group-7',
  'severity=critical',
  'severity=low',
  'verdict=vulnerable',
  'verdict=clear',
  'verdict=unchecked',
  'security=true',
  'security=false',
  'exploited=true',
  'exploited=false',
  'os=debian',
  'os=alpine',
  'host=web-1*',
  'host=*99*',
  'since=2026-11-17T00:00:00Z',
  'since=2026-11-02T00:00:00Z',
  'until=2026-11-02T00:00:00Z',
  'state=pending&severity=critical&ecosystem=npm',
  'state=pending&os=debian&security=true',
  'state=installed&verdict=unchecked&security=true',
  'verdict=vulnerable&since=2026-11-10T00:00:00Z&group=group-7',
];
const UPDATE_FILTERS = [
  ...FIRST_UPDATE_FILTERS,
  'verdict=not_judged',
  'open=true',
  'open=false',
  'stopped_under=introduced',
  'stopped_under=any',
  'blocked=true',
  'blocked=false',
  'introduces=true',
  'stays=false',
  'fixes=true',
  'fixes_severity=critical',
  'fixes_exploited=true',
  'offer=newest',
  'max_change=minor',
  'alternatives=true',
  'tag=env=stage',
  'tag=env=prod',
  'tag=host.site=site-7',
];
/** The same of pending updates. */
const PENDING_FILTERS = [
  ...new Set(UPDATE_FILTERS.map((filter) => filter.replace(/(^|&)state=\w+&?/, '$1'))),
].filter(Boolean);
const FIRST_HOST_FILTERS = [
  'q=web-77',
  'q=nothing',
  'os=alpine',
  'os=debian',
  'ecosystem=apt',
  'ecosystem=pypi',
  'agent_version=0.9.0',
  'group=group-7',
  'online=false',
  'clone_suspected=true',
  ...HOST_STATUSES.map((status) => `status=${status}`),
  'status=offline&os=debian&ecosystem=apt',
];
const HOST_FILTERS = [
  ...FIRST_HOST_FILTERS,
  'reboot=needed',
  'reboot=unknown',
  'services_restart=needed',
  'services_restart=not_needed',
  'tag=env=stage',
  'tag=env=prod',
  'tag=host.site=site-7',
  ...PROBES_STATES.map((state) => `probes=${state}`),
  ...['stale', 'current', 'unknown'].map((state) => `lists=${state}`),
  ...['wrong', 'right', 'unknown'].map((state) => `clock=${state}`),
  'lists=stale&group=group-7',
  'clock=right&os=debian',
];
const EVENT_FILTERS = [
  'kind=security',
  'type=LOGIN_FAILED',
  'type=MACHINE_BOUND',
  'severity=critical',
  'severity=error',
  'component=approvals',
  `agent_id=${A_HOST}`,
  'q=blocked',
  'q=operator-7',
  'q=nothing',
  'since=2026-11-08T00:00:00Z',
  'until=2026-11-02T00:00:00Z',
  'kind=system&severity=critical',
  'q=failed&severity=critical&since=2026-11-08T00:00:00Z',
];

const LISTS: readonly {
  readonly list: string;
  readonly sorts: readonly string[];
  readonly filters: readonly string[];
  readonly first: readonly string[];
}[] = [
  { list: 'agents', sorts: AGENT_SORTS, filters: HOST_FILTERS, first: FIRST_HOST_FILTERS },
  { list: 'updates', sorts: UPDATE_SORTS, filters: UPDATE_FILTERS, first: FIRST_UPDATE_FILTERS },
  { list: 'packages', sorts: PACKAGE_SORTS, filters: UPDATE_FILTERS, first: FIRST_UPDATE_FILTERS },
  { list: 'updates/by-host', sorts: UPDATED_HOST_SORTS, filters: PENDING_FILTERS, first: [] },
  { list: 'events', sorts: EVENT_SORTS, filters: EVENT_FILTERS, first: EVENT_FILTERS },
];
const LATER_SORT = 'urgency';

export const LIST_NAMES = LISTS.map(({ list }) => list);

/** Every filter with every sort, in both directions. */
export function firstPages(): ListQuery[] {
  return LISTS.flatMap(({ list, sorts, filters, first }) =>
    ['', ...filters].flatMap((filter) =>
      directed(sorts).map((sort) => ({
        list,
        query: [filter, sort].filter(Boolean).join('&'),
        isFirst: ['', ...first].includes(filter) && first.length > 0 && !sort.endsWith(LATER_SORT),
      })),
    ),
  );
}

/** Every sort in both directions without a filter, and every filter in the default order. */
export function deepPages(): ListQuery[] {
  return LISTS.flatMap(({ list, sorts, filters, first }) => [
    ...directed(sorts).map((sort) => ({
      ...{ list, query: sort },
      isFirst: first.length > 0 && !sort.endsWith(LATER_SORT),
    })),
    ...filters.map((query) => ({ list, query, isFirst: first.includes(query) })),
  ]);
}

function directed(sorts: readonly string[]): string[] {
  return sorts.flatMap((sort) => [`sort=${sort}`, `sort=-${sort}`]);
}
