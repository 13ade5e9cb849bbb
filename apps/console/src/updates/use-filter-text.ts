import { useEffect, useState } from 'react';

type FilterText = typeof import('@tidegate/protocol/filter-text');

let loaded: FilterText | null = null;

/** The parser of filter texts; null until it is loaded, which happens after the page, as it brings the schemas. */
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
