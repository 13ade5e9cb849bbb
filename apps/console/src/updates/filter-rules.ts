import { FILTER_KEYS } from '@tidegate/protocol/filter-keys';
import type { UpdateFilter } from '@tidegate/protocol/updates-api';
import { changesTo } from '../api/filter-changes.ts';

export type FilterName = keyof UpdateFilter;
/** A filter as the URL has it. */
export type UrlFilter = Readonly<Partial<Record<FilterName, string>>>;

const isFilterName = (name: string): name is FilterName => name in FILTER_KEYS;

export const UPDATE_FILTERS: readonly FilterName[] = Object.keys(FILTER_KEYS).filter(isFilterName);

/** The pending updates: the filter of the first visit. */
export const WAITING: UrlFilter = { state: 'pending' };

/** What the parts of a filter are called on its chips: as in its text. */
export const FILTER_NAMES: Readonly<Record<FilterName, string>> = { ...FILTER_KEYS, q: 'search' };

/** The changes that turn any filter of updates into this one. */
export function replacing(
  filter: Readonly<Record<string, unknown>>,
): Readonly<Partial<Record<FilterName, string | undefined>>> {
  return changesTo(UPDATE_FILTERS, filter);
}

/** Identifies a filter, whatever the order of its parts. */
export function filterKey(filter: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(Object.entries(replacing(filter)));
}
