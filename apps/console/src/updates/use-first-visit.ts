import { useEffect, useState } from 'react';
import type { ListSearch } from '../api/list-search.ts';
import { type FilterName, replacing, WAITING } from './filter-rules.ts';

let wasHere = false;

/**
 * The first visit shows pending updates unless the link has a filter; afterwards no filter means everything.
 * Returns whether the list may be fetched, which it may not while that filter is being set.
 */
export function useFirstVisit(list: ListSearch<FilterName>): boolean {
  const [isFirst] = useState(() => !wasHere && !list.isFiltered);
  const [isSet, setSet] = useState(!isFirst);
  useEffect(() => {
    wasHere = true;
    if (isSet) return;
    list.setFilter(replacing(WAITING));
    setSet(true);
  }, [isSet, list]);
  return isSet;
}
