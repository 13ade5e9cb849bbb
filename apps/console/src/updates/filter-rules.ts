import { FILTER_KEYS } from '@tidegate/protocol/filter-keys';
import type { UpdateFilter } from '@tidegate/protocol/updates-api';

export type FilterName = keyof UpdateFilter;
/** A filter as the URL has it. */
export type UrlFilter = Readonly<Partial<Record<FilterName, string>>>;

const isFilterName = (name: string): name is FilterName => name in FILTER_KEYS;

export const UPDATE_FILTERS: readonly FilterName[] = Object.keys(FILTER_KEYS).filter(isFilterName);

/** The pending updates: the filter of the first visit. */
export const WAITING: UrlFilter = { state: 'pending' };

export interface Chip {
  readonly name: FilterName;
  readonly text: string;
}

/** One chip for each part of the filter, in the order in which the text names them. */
export function chipsOf(filter: UrlFilter): readonly Chip[] {
  return UPDATE_FILTERS.flatMap((name) => {
    const value = filter[name];
    return value === undefined
      ? []
      : [{ name, text: `${name === 'q' ? 'search' : FILTER_KEYS[name]}: ${value}` }];
  });
}

/** The changes that turn any filter into this one: parts that it does not name are removed. */
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

/** Identifies a filter, whatever the order of its parts. */
export function filterKey(filter: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(Object.entries(replacing(filter)));
}
