import { Command } from 'cmdk';
import type { Action } from '../actions/actions.ts';
import { ActionLine } from './action-line.tsx';
import { Dialog } from './dialog.tsx';
import { FOUND_RANK, rankOf } from './palette-rules.ts';

/** Something that a search found: it is listed as it is, whatever the text. */
const FOUND = 'found ';

interface Props {
  readonly actions: readonly Action[];
  /** What the server found for the text. */
  readonly found: readonly Action[];
  /** What to say where nothing is listed. */
  readonly empty: string;
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly onRun: (action: Action) => void;
  readonly onClose: () => void;
}

/** A list of actions that typing narrows, with what the server found; Enter runs the highlighted one. */
export function CommandPalette({ actions, found, empty, text, onText, onRun, onClose }: Props) {
  return (
    <Dialog title="Search or act" onClose={onClose}>
      <Command
        label="Search or act"
        loop
        filter={(value, text, words) => (value.startsWith(FOUND) ? FOUND_RANK : rankOf(text, words ?? []))}
      >
        <Command.Input
          value={text}
          onValueChange={onText}
          placeholder="A host, package, CVE, operator, page or act"
          className="mb-2 w-full rounded-md border border-line-strong bg-surface px-3 py-2"
        />
        <Command.List className="max-h-[50vh] overflow-y-auto">
          <Command.Empty className="px-3 py-6 text-center text-muted">{empty}</Command.Empty>
          <Groups actions={found} prefix={FOUND} onRun={onRun} />
          <Groups actions={actions} prefix="" onRun={onRun} />
        </Command.List>
      </Command>
    </Dialog>
  );
}

function Groups({
  actions,
  prefix,
  onRun,
}: {
  actions: readonly Action[];
  prefix: string;
  onRun: (action: Action) => void;
}) {
  return [...Map.groupBy(actions, ({ group }) => group)].map(([group, members]) => (
    <Command.Group
      key={group}
      heading={group}
      className="[&>[cmdk-group-heading]]:px-2 [&>[cmdk-group-heading]]:py-1 [&>[cmdk-group-heading]]:text-[0.85rem] [&>[cmdk-group-heading]]:text-muted"
    >
      {members.map((action) => (
        <Command.Item
          key={action.id}
          value={prefix + action.id}
          keywords={[action.label, group]}
          onSelect={() => onRun(action)}
          className="flex min-h-9 cursor-pointer items-center gap-2 rounded-md px-2 py-1 wrap-anywhere data-[selected=true]:bg-accent-soft"
        >
          <ActionLine action={action} />
        </Command.Item>
      ))}
    </Command.Group>
  ));
}
