import { useEffect, useState } from 'react';

type FilterText = typeof import('@tidegate/protocol/filter-text');

let loaded: FilterText | null = null;

/** Reads and writes filters as text; null until it is there: it comes after the page, with the schemas it knows. */
export function useFilterText(): FilterText | null {
  const [parser, setParser] = useState(loaded);
  useEffect(() => {
    if (parser !== null) return;
    let isGone = false;
    void import('@tidegate/protocol/filter-text').then((module) => {
      loaded = module;
      if (!isGone) setParser(module);
    });
    return () => {
      isGone = true;
    };
  }, [parser]);
  return parser;
}
