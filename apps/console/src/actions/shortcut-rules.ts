import type { Action } from './actions.ts';

/** How long the first key of two waits for the second, in milliseconds. */
export const SEQUENCE_MS = 1_200;

export interface Pressed {
  readonly key: string;
  readonly atMs: number;
}

/**
 * Matches a key and the key before it to an action, the start of a sequence, or nothing. The first match wins; the
 * list has the page's actions first.
 */
export function matchShortcut(
  actions: readonly Pick<Action, 'shortcut' | 'isAllowed'>[],
  { before, now }: { before: Pressed | null; now: Pressed },
): { kind: 'run'; index: number } | { kind: 'wait' } | { kind: 'none' } {
  const isSequence = before !== null && now.atMs - before.atMs <= SEQUENCE_MS;
  const typed = isSequence ? [`${before.key} ${now.key}`, now.key] : [now.key];
  for (const keys of typed) {
    const index = actions.findIndex(({ shortcut, isAllowed }) => isAllowed && shortcut === keys);
    if (index >= 0) return { kind: 'run', index };
  }
  const begins = actions.some(({ shortcut }) => shortcut?.startsWith(`${now.key} `));
  return begins ? { kind: 'wait' } : { kind: 'none' };
}
