import { useSyncExternalStore } from 'react';

/** Narrower than this there is no room beside the page: the `md` of the styles. */
const narrow = matchMedia('(width < 48rem)');

function subscribe(listener: () => void): () => void {
  narrow.addEventListener('change', listener);
  return () => narrow.removeEventListener('change', listener);
}

/** Whether the window is that of a telephone, or of somebody who made everything large. */
export function useNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => narrow.matches);
}
