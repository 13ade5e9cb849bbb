import { useEffect, useState } from 'react';

type FilterText = typeof import('@tidegate/protocol/filter-text');
/** The lists whose filters are typed. */
export type FilterOf = 'updates' | 'hosts';

let loaded: FilterText | null = null;

/**
 * Reads and writes filters as text; null until it is loaded, which happens after the page, as it brings the schemas;
 * `failed` if it did not load.
 */
export function useFilterLanguage(of: FilterOf) {
  const [module, setModule] = useState<FilterText | 'failed' | null>(loaded);
  useEffect(() => {
    if (module !== null) return;
    let isGone = false;
    void import('@tidegate/protocol/filter-text').then(
      (text) => {
        loaded = text;
        if (!isGone) setModule(text);
      },
      () => {
        if (!isGone) setModule('failed');
      },
    );
    return () => {
      isGone = true;
    };
  }, [module]);
  if (module === null || module === 'failed') return module;
  return of === 'hosts' ? module.HOST_FILTERS : module.UPDATE_FILTERS;
}
