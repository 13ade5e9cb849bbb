import { useEffect } from 'react';
import { offeredActions } from './registry.ts';
import { matchShortcut, type Pressed } from './shortcut-rules.ts';

/** Runs the action whose keys were pressed; never while the operator types, never with Ctrl, Alt or Meta. */
export function useShortcuts(isOn: boolean): void {
  useEffect(() => {
    if (!isOn) return;
    let before: Pressed | null = null;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target))
        return;
      if (event.key.length !== 1) return;
      const now = { key: event.key.toLowerCase(), atMs: event.timeStamp };
      const actions = offeredActions();
      const match = matchShortcut(actions, { before, now });
      before = match.kind === 'wait' ? now : null;
      if (match.kind !== 'run') return;
      event.preventDefault();
      actions[match.index]?.run();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [isOn]);
}

/** True in a field, and in a dialog: its actions are its buttons. */
function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest('input:not([type=checkbox]),textarea,select,[contenteditable],dialog') !== null
  );
}
