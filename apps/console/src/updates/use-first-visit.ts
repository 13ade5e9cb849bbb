import { useEffect, useState } from 'react';
import type { ListSearch } from '../api/list-search.ts';
import { type FilterName, replacing, WAITING } from './filter-rules.ts';

let wasHere = false;

/**
 * The first visit, when the link says nothing else, shows what waits; afterwards no filter means everything.
 * Answers whether the list may be fetched: not while the filter of the first visit is being set.
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
