import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { CommandItem } from '@tidegate/protocol/commands-api';
import { isolated } from '@tidegate/protocol/isolated';
import { Ban, RotateCcw } from 'lucide-react';
import { useState } from 'react';
import { oneQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { RestartEvidence } from '../hosts/restart-panel.tsx';
import { actorText } from '../ui/actor.ts';
import { Button } from '../ui/button.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { Fold, RawJson } from '../ui/fold.tsx';
import { Facts, Page, Panel } from '../ui/page.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { AroundPanel } from './around-panel.tsx';
import { CommandPackages } from './command-packages.tsx';
import { ACTION_WORDS, CommandStatusBadge, reasonInWords, STATUS_LOOKS } from './command-words.tsx';
import { LiveOutput } from './live-output.tsx';
import { CommandProgress } from './progress-panel.tsx';
import { useCommandVerbs } from './use-command-verbs.ts';

/** One command: what was requested of which host, its progress, and its output. */
export function CommandPage() {
  const { id = '' } = useParams({ strict: false });
  const {
    data: command,
    error,
    refetch,
  } = useQuery(oneQuery<CommandItem>('commands', `/api/v1/commands/${id}`));
  if (!command)
    return (
      <Page title="Command">
        {error ? <ErrorPanel error={error} retry={() => void refetch()} /> : <Skeleton as="panels" />}
      </Page>
    );
  return (
    <Page
      title={`${capital(ACTION_WORDS[command.action])} on ${isolated(command.hostname)}`}
      lead={
        <span className="flex flex-wrap items-center gap-2">
          <CommandStatusBadge status={command.status} />
          {command.packages.total > 0 && <CommandPackages of={command.packages} empty="" />}
        </span>
      }
      actions={<Verbs command={command} />}
    >
      {error && <ErrorPanel error={error} retry={() => void refetch()} />}
      <div className="grid grid-cols-[minmax(0,1fr)_26rem] items-start gap-4 max-lg:grid-cols-1">
        <LiveOutput key={command.id} commandId={command.id} tail={command.output_tail} />
        <div className="space-y-4">
          <CommandProgress command={command} />
          <AroundPanel command={command} />
          <About command={command} />
          {command.restarts && (
            <Panel title="Restarts after it">
              <RestartEvidence report={command.restarts} />
            </Panel>
          )}
        </div>
      </div>
    </Page>
  );
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

function About({ command }: { command: CommandItem }) {
  const { agent_id: agentId, update_ids: updateIds } = command;
  return (
    <Panel title="Details">
      <div className="space-y-3">
        <Facts
          facts={[
            [
              'Host',
              <Link key="host" to="/hosts/$id" params={{ id: agentId }}>
                {command.hostname}
              </Link>,
            ],
            ...(updateIds.length === 0
              ? []
              : [
                  [
                    updateIds.length === 1 ? 'Update' : 'Updates',
                    <Updates key="updates" ids={updateIds} />,
                  ] as const,
                ]),
            ['Requested by', actorText(command.created_by)],
            ['Reason', reasonInWords(command.reason) ?? <span className="text-muted">none</span>],
            ['Exit code', command.exit_code ?? <span className="text-muted">none</span>],
            ['Number', command.seq ?? <span className="text-muted">not sent yet</span>],
            ['Id', <CopyText key="id" text={command.id} />],
          ]}
        />
        <Fold summary="Parameters">
          <RawJson value={command.params} />
        </Fold>
      </div>
    </Panel>
  );
}

function Updates({ ids }: { ids: readonly string[] }) {
  const [only, ...others] = ids;
  if (only !== undefined && others.length === 0) {
    return (
      <Link to="/updates/$id" params={{ id: only }}>
        Open the update
      </Link>
    );
  }
  return (
    <Fold summary={`${ids.length.toLocaleString('en')} in one transaction`}>
      <ul>
        {ids.map((id) => (
          <li key={id}>
            <Link to="/updates/$id" params={{ id }}>
              {id}
            </Link>
          </li>
        ))}
      </ul>
    </Fold>
  );
}

function Verbs({ command }: { command: CommandItem }) {
  const { may } = useSession();
  const [isAsking, setAsking] = useState(false);
  const { cancel, retry } = useCommandVerbs(command.id);
  const { can: usual } = STATUS_LOOKS[command.status];
  // A repair is ordered anew on the page of its host, for what the host reports by now.
  const can = command.action === 'repair' && usual === 'retry' ? null : usual;
  if (!may('approver')) return null;
  return (
    <>
      {can === 'cancel' && (
        <Button onClick={() => setAsking(true)} icon={<Ban aria-hidden="true" className="size-4" />}>
          Cancel the command
        </Button>
      )}
      {can === 'retry' && (
        <Button
          busy={retry.isPending}
          onClick={() => retry.mutate()}
          icon={<RotateCcw aria-hidden="true" className="size-4" />}
        >
          Retry
        </Button>
      )}
      {isAsking && (
        <ConfirmDialog
          title="Cancel the command"
          confirm="Cancel the command"
          onConfirm={() => cancel.mutateAsync()}
          onClose={() => setAsking(false)}
        >
          <p>
            {command.action === 'install_update'
              ? 'The approval becomes void and the update is pending again. You can approve it again.'
              : 'The host will not run it. You can request it again.'}
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}
