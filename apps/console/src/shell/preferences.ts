import { useSyncExternalStore } from 'react';

export interface Preferences {
  readonly theme: 'system' | 'light' | 'dark';
  readonly density: 'comfortable' | 'compact';
  /** Single-key shortcuts; users of speech input switch them off. */
  readonly shortcuts: boolean;
}

const DEFAULTS: Preferences = { theme: 'system', density: 'comfortable', shortcuts: true };

let user = '';
let current = DEFAULTS;
const listeners = new Set<() => void>();

/** Loads the preferences that this browser stores for the user. */
export function loadPreferences(username: string): void {
  if (username === user) return;
  user = username;
  apply(stored());
}

export function setPreferences(changes: Partial<Preferences>): void {
  apply({ ...current, ...changes });
  localStorage.setItem(keyOf(user), JSON.stringify(current));
}

export function usePreferences(): Preferences {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
}

function apply(next: Preferences): void {
  current = next;
  const { dataset } = document.documentElement;
  if (next.theme === 'system') delete dataset.theme;
  else dataset.theme = next.theme;
  dataset.density = next.density;
  for (const listener of listeners) listener();
}

function stored(): Preferences {
  try {
    const found: Partial<Record<keyof Preferences, unknown>> = JSON.parse(
      localStorage.getItem(keyOf(user)) ?? '{}',
    );
    return {
      theme: found.theme === 'light' || found.theme === 'dark' ? found.theme : 'system',
      density: found.density === 'compact' ? 'compact' : 'comfortable',
      shortcuts: found.shortcuts !== false,
    };
  } catch {
    return DEFAULTS;
  }
}

function keyOf(username: string): string {
  return `tidegate:preferences:${username}`;
}
