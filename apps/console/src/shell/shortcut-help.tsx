import { useOfferedActions } from '../actions/registry.ts';
import { Kbd } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';

const IN_TABLES = [
  ['J / K', 'Next or previous row'],
  ['Enter', 'Open the row'],
  ['X', 'Select the row; with Shift the range'],
  ['Esc', 'Close, or clear the selection'],
] as const;

/** The shortcuts that work on this page. */
export function ShortcutHelp({ onClose }: { onClose: () => void }) {
  const actions = useOfferedActions().filter(({ shortcut, isAllowed }) => shortcut && isAllowed);
  const groups = Map.groupBy(actions, ({ group }) => group);
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <div className="space-y-4">
        {[...groups].map(([group, members]) => (
          <section key={group}>
            <h3 className="mb-1 font-semibold">{group}</h3>
            <ul>
              {members.map(({ id, label, shortcut }) => (
                <li key={id} className="flex justify-between py-0.5">
                  <span>{label}</span>
                  <kbd className="mono">{shortcut}</kbd>
                </li>
              ))}
            </ul>
          </section>
        ))}
        <section>
          <h3 className="mb-1 font-semibold">In tables</h3>
          <ul>
            {IN_TABLES.map(([keys, label]) => (
              <li key={keys} className="flex justify-between py-0.5">
                <span>{label}</span>
                <kbd className="mono">{keys}</kbd>
              </li>
            ))}
          </ul>
        </section>
        <p className="text-muted">
          <Kbd text="Ctrl K" /> searches all actions. Shortcuts can be switched off in the menu under your
          name.
        </p>
      </div>
    </Dialog>
  );
}
