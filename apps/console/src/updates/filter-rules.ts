import type { UpdateFilter } from '@tidegate/protocol/updates-api';

export type FilterName = keyof UpdateFilter;
/** A filter as it stands in the URL. */
export type UrlFilter = Readonly<Partial<Record<FilterName, string>>>;

/** What each part of a filter is called on its chip; the keys are all that there are. */
const LABELS: Readonly<Record<FilterName, string>> = {
  state: 'state',
  ecosystem: 'ecosystem',
  name: 'name',
  q: 'search',
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
};

const isFilterName = (name: string): name is FilterName => name in LABELS;

export const UPDATE_FILTERS: readonly FilterName[] = Object.keys(LABELS).filter(isFilterName);

/** What waits for somebody: the filter of the first visit. */
export const WAITING: UrlFilter = { state: 'pending' };

export interface Chip {
  readonly name: FilterName;
  readonly text: string;
}

/** One chip for each part of the filter, in the order in which the text names them. */
export function chipsOf(filter: UrlFilter): readonly Chip[] {
  return UPDATE_FILTERS.flatMap((name) => {
    const value = filter[name];
    return value === undefined ? [] : [{ name, text: `${LABELS[name]}: ${value}` }];
  });
}

/** The changes that make any filter this one: what it does not name is taken away. */
export function replacing(
  filter: Readonly<Record<string, unknown>>,
): Readonly<Partial<Record<FilterName, string | undefined>>> {
  return Object.fromEntries(
    UPDATE_FILTERS.map((name) => {
      const value = filter[name];
      return [name, value === undefined ? undefined : String(value)];
    }),
  );
}

/** Names a filter, whatever the order of its parts. */
export function filterKey(filter: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(Object.entries(replacing(filter)));
}
