import { useSyncExternalStore } from 'react';

/** Below this width there is no room for a sidebar: the `md` of the styles. */
const narrow = matchMedia('(width < 48rem)');

function subscribe(listener: () => void): () => void {
  narrow.addEventListener('change', listener);
  return () => narrow.removeEventListener('change', listener);
}

/** Whether the window is narrow, as on a phone or at a high zoom. */
export function useNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => narrow.matches);
}
