import { Command } from 'cmdk';
import type { Action } from '../actions/actions.ts';
import { ActionLine } from './action-line.tsx';
import { Dialog } from './dialog.tsx';

/** A list of actions that typing narrows; Enter runs the highlighted one. */
export function CommandPalette({ actions, onClose }: { actions: readonly Action[]; onClose: () => void }) {
  const groups = Map.groupBy(actions, ({ group }) => group);
  return (
    <Dialog title="Search or act" onClose={onClose}>
      <Command label="Actions" loop>
        <Command.Input
          autoFocus
          placeholder="Type part of a name"
          className="mb-2 w-full rounded-md border border-line-strong bg-surface px-3 py-2"
        />
        <Command.List className="max-h-[50vh] overflow-y-auto">
          <Command.Empty className="px-3 py-6 text-center text-muted">No action has this name.</Command.Empty>
          {[...groups].map(([group, members]) => (
            <Command.Group
              key={group}
              heading={group}
              className="[&>[cmdk-group-heading]]:px-2 [&>[cmdk-group-heading]]:py-1 [&>[cmdk-group-heading]]:text-[0.85rem] [&>[cmdk-group-heading]]:text-muted"
            >
              {members.map((action) => (
                <Command.Item
                  key={action.id}
                  value={`${group} ${action.label} ${action.id}`}
                  onSelect={() => {
                    onClose();
                    action.run();
                  }}
                  className="flex min-h-9 cursor-pointer items-center gap-2 rounded-md px-2 data-[selected=true]:bg-accent-soft"
                >
                  <ActionLine action={action} />
                </Command.Item>
              ))}
            </Command.Group>
          ))}
        </Command.List>
      </Command>
    </Dialog>
  );
}
