import { useEffect, useRef, useSyncExternalStore } from 'react';
import type { Action } from './actions.ts';

let registered: readonly { readonly actions: readonly Action[] }[] = [];
let all: readonly Action[] = [];
const listeners = new Set<() => void>();

function publish(next: typeof registered): void {
  registered = next;
  // Latest first: a page's actions come before those of the frame around it.
  all = registered.toReversed().flatMap(({ actions }) => actions);
  for (const listener of listeners) listener();
}

/** Offers these actions in the palette and by their shortcuts while the component is mounted. */
export function useActions(actions: readonly Action[]): void {
  const entry = useRef<{ readonly actions: readonly Action[] } | null>(null);
  useEffect(() => {
    const next = { actions };
    const before = entry.current;
    entry.current = next;
    const isThere = before !== null && registered.includes(before);
    publish(isThere ? registered.map((one) => (one === before ? next : one)) : [...registered, next]);
  }, [actions]);
  useEffect(() => () => publish(registered.filter((one) => one !== entry.current)), []);
}

/** All actions on offer now. */
export function useOfferedActions(): readonly Action[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => all,
  );
}

/** The same, for callers outside a render. */
export const offeredActions = (): readonly Action[] => all;
