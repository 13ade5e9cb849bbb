import { useMemo, useState } from 'react';

/** The selection in a list: single rows, ranges with Shift, or everything that matches the filter. */
export interface Selection {
  readonly ids: ReadonlySet<string>;
  /** Everything that matches the filter, including other pages. */
  readonly isAllMatching: boolean;
  has(id: string): boolean;
  /** `ids` are the rows on screen in order; `range` sets all rows since the last toggled one alike. */
  toggle(id: string, list: { ids: readonly string[]; range: boolean }): void;
  setAll(ids: readonly string[], selected: boolean): void;
  selectAllMatching(): void;
  clear(): void;
}

interface State {
  readonly ids: ReadonlySet<string>;
  readonly anchor: string | null;
  readonly isAllMatching: boolean;
}

const NOTHING: State = { ids: new Set(), anchor: null, isAllMatching: false };

/** The rows between the anchor and the id, both included; the id alone where the anchor is not on screen. */
export function rangeOf(
  ids: readonly string[],
  { anchor, id }: { anchor: string | null; id: string },
): readonly string[] {
  const from = anchor === null ? -1 : ids.indexOf(anchor);
  const to = ids.indexOf(id);
  if (from < 0 || to < 0) return [id];
  return ids.slice(Math.min(from, to), Math.max(from, to) + 1);
}

/** `key` identifies the filter: another filter has another selection. */
export function useSelection(key: string): Selection {
  const [stored, setStored] = useState({ key, state: NOTHING });
  const state = stored.key === key ? stored.state : NOTHING;
  return useMemo(() => {
    const set = (next: State) => setStored({ key, state: next });
    return {
      ids: state.ids,
      isAllMatching: state.isAllMatching,
      has: (id) => state.isAllMatching || state.ids.has(id),
      toggle(id, { ids, range }) {
        const next = new Set(state.isAllMatching ? ids : state.ids);
        const isOn = !next.has(id);
        for (const one of range ? rangeOf(ids, { anchor: state.anchor, id }) : [id]) {
          if (isOn) next.add(one);
          else next.delete(one);
        }
        set({ ids: next, anchor: id, isAllMatching: false });
      },
      setAll(ids, selected) {
        const next = new Set(state.isAllMatching ? [] : state.ids);
        for (const id of ids) {
          if (selected) next.add(id);
          else next.delete(id);
        }
        set({ ids: next, anchor: null, isAllMatching: false });
      },
      selectAllMatching: () => set({ ...state, isAllMatching: true }),
      clear: () => set(NOTHING),
    };
  }, [key, state]);
}
