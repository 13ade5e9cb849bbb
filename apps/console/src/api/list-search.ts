import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import type { Pager } from '../ui/list-panel.tsx';

/** The state of a list, kept in the URL so that a link reproduces the view. */
export interface ListSearch<F extends string> {
  readonly filter: Readonly<Partial<Record<F, string>>>;
  readonly sort: string | undefined;
  /** The query of the list call. */
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly isFiltered: boolean;
  /** Identifies filter and order, for state that belongs to them, such as the selection. */
  readonly key: string;
  readonly pager: Pager;
  setFilter(changes: Readonly<Partial<Record<F, string | undefined>>>): void;
  clearFilter(): void;
  /** Sets filter and sort order in one step, which the browser's Back undoes. */
  replace(filter: Readonly<Partial<Record<F, string | undefined>>>, sort: string | undefined): void;
  setSort(sort: string): void;
}

/** Reads and writes the filter, the sort order and the page of the list on this page. */
export function useListSearch<F extends string>(
  names: readonly F[],
  fixed: Readonly<Record<string, string>> = {},
): ListSearch<F> {
  const search: Readonly<Record<string, unknown>> = useSearch({ strict: false });
  const navigate = useNavigate();
  const [trail, setTrail] = useState<{ key: string; cursors: readonly (string | undefined)[] }>({
    key: '',
    cursors: [],
  });

  return useMemo(() => {
    const text = (name: string) => (typeof search[name] === 'string' ? search[name] : undefined);
    const filter: Partial<Record<F, string>> = {};
    for (const name of names) {
      const value = text(name);
      if (value !== undefined) filter[name] = value;
    }
    const [sort, cursor] = [text('sort'), text('cursor')];
    const key = JSON.stringify([filter, sort]);
    const cursors = trail.key === key ? trail.cursors : [];
    const go = (changes: Record<string, string | undefined>, replace = false) =>
      void navigate({ to: '.', search: { ...search, ...changes }, replace });
    return {
      filter,
      sort,
      key,
      isFiltered: Object.keys(filter).length > 0,
      query: { ...filter, ...fixed, sort, cursor },
      pager: {
        isFirst: cursor === undefined,
        next(next) {
          setTrail({ key, cursors: [...cursors, cursor] });
          go({ cursor: next });
        },
        back() {
          setTrail({ key, cursors: cursors.slice(0, -1) });
          go({ cursor: cursors.at(-1) });
        },
      },
      setFilter: (changes) => go({ ...changes, cursor: undefined }, true),
      clearFilter: () =>
        go({ ...Object.fromEntries(names.map((name) => [name, undefined])), cursor: undefined }),
      replace: (next, order) => go({ ...next, sort: order, cursor: undefined }),
      setSort: (next) => go({ sort: next, cursor: undefined }, true),
    };
  }, [search, names, fixed, trail, navigate]);
}

/** Reads search parameters as plain strings, as other programs do. */
export function parseSearch(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text));
}

export function stringifySearch(values: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(values).flatMap(([name, value]) =>
    value === undefined || value === null || value === '' ? [] : [[name, String(value)]],
  );
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`;
}
