import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { CommandItem } from '@tidegate/protocol/commands-api';
import type { Progress, Wait } from '@tidegate/protocol/progress-api';
import { oneQuery } from '../api/queries.ts';
import { Panel } from '../ui/page.tsx';
import { ErrorPanel } from '../ui/states.tsx';
import { CommandPackages } from './command-packages.tsx';
import { ACTION_WORDS, CommandStatusBadge, STATUS_LOOKS } from './command-words.tsx';
import { Stepper } from './stepper.tsx';

/** Where the installation of an update stands; nothing where none is possible. */
export function UpdateProgress({ id }: { id: string }) {
  const { data, error, refetch } = useQuery(oneQuery<Progress>('commands', `/api/v1/updates/${id}/progress`));
  if (error) return <ErrorPanel error={error} retry={() => void refetch()} />;
  if (!data || (data.command === null && data.waits.length === 0)) return null;
  return (
    <Panel title="Progress" aside={data.command && <ToCommand command={data.command} />}>
      <Stepper command={data.command} waits={withoutLinkTo(id, data.waits)} />
    </Panel>
  );
}

/** A page needs no link to itself. */
function withoutLinkTo(id: string, waits: readonly Wait[]): readonly Wait[] {
  return waits.map((wait) => (wait.id === id ? { ...wait, id: null } : wait));
}

/** What the host does now, or did last. */
export function HostProgress({ id }: { id: string }) {
  const { data, error, refetch } = useQuery(oneQuery<Progress>('commands', `/api/v1/agents/${id}/progress`));
  if (error) return <ErrorPanel error={error} retry={() => void refetch()} />;
  if (!data?.command) return null;
  const { command } = data;
  const waits = withoutLinkTo(id, data.waits);
  return (
    <Panel
      title={STATUS_LOOKS[command.status].isOver ? 'What it did last' : 'What it does now'}
      aside={<CommandStatusBadge status={command.status} />}
    >
      <div className="space-y-3">
        <p className="flex flex-wrap gap-x-2 wrap-anywhere">
          <ToCommand command={command} />
          {command.packages.total > 0 && <CommandPackages of={command.packages} empty="" />}
        </p>
        <Stepper command={command} waits={waits} />
      </div>
    </Panel>
  );
}

function ToCommand({ command: { id, action } }: { command: CommandItem }) {
  return (
    <Link to="/commands/$id" params={{ id }}>
      {`See the command: ${ACTION_WORDS[action]}`}
    </Link>
  );
}

/** The steps of a command that is on the page already. */
export function CommandProgress({ command }: { command: CommandItem }) {
  const { data, error, refetch } = useQuery(
    oneQuery<Progress>('commands', `/api/v1/commands/${command.id}/progress`),
  );
  return (
    <Panel title="Progress">
      {error && <ErrorPanel error={error} retry={() => void refetch()} />}
      <Stepper command={command} waits={data?.waits ?? []} />
    </Panel>
  );
}
