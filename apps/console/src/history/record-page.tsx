import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { CommandItem } from '@tidegate/protocol/commands-api';
import type { DecisionItem } from '@tidegate/protocol/decisions-api';
import type { PackageChange } from '@tidegate/protocol/package-history-api';
import { Check, Circle, Printer } from 'lucide-react';
import type { Page as ListPage } from '../api/client.ts';
import { oneQuery } from '../api/queries.ts';
import { MANAGERS } from '../hosts/package-managers.ts';
import { Button } from '../ui/button.tsx';
import { Facts, Page, Panel } from '../ui/page.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { type UpdateView, updateQuery } from '../updates/update-view.ts';
import { recordOf } from './record-rules.ts';

/** How one update came to a host: found, judged, approved, signed, installed. It prints on one sheet. */
export function RecordPage() {
  const { id = '' } = useParams({ strict: false });
  const { data: update, error, refetch } = useQuery(updateQuery(id));
  if (update) return <RecordOf key={id} update={update} />;
  return (
    <Page title="Record of an installation">
      {error ? <ErrorPanel error={error} retry={() => void refetch()} /> : <Skeleton />}
    </Page>
  );
}

function RecordOf({ update }: { update: UpdateView }) {
  const { id, agent_id: agentId, name, hostname } = update;
  const host = encodeURIComponent(agentId);
  const queries = [
    useQuery(oneQuery<ListPage<DecisionItem>>('updates', `/api/v1/updates/${id}/decisions`)),
    useQuery(oneQuery<ListPage<CommandItem>>('commands', '/api/v1/commands', { update_id: id })),
    useQuery(
      oneQuery<ListPage<PackageChange>>('updates', `/api/v1/agents/${host}/inventory/changes`, {
        ...{ q: name.slice(0, 128), ecosystem: update.ecosystem, limit: 200 },
      }),
    ),
  ] as const;
  const [decisions, commands, changes] = queries;
  const failed = queries.find(({ error }) => error !== null);
  return (
    <Page
      title={`Record: ${name} on ${hostname}`}
      lead={
        <span className="flex flex-wrap gap-x-4 print:hidden">
          <Link to="/updates/$id" params={{ id }} className="inline-block py-1">
            The update
          </Link>
          <Link to="/hosts/$id/history" params={{ id: agentId }} className="inline-block py-1">
            History of {hostname}
          </Link>
        </span>
      }
      actions={
        <span className="print:hidden">
          <Button icon={<Printer aria-hidden="true" className="size-4" />} onClick={() => window.print()}>
            Print
          </Button>
        </span>
      }
    >
      <div className="space-y-4">
        <Panel title="What was changed">
          <Facts
            facts={[
              [
                'Host',
                <span key="host" className="break-all">
                  {hostname}
                </span>,
              ],
              [
                'Package',
                <span key="package" className="break-all">
                  {name}
                </span>,
              ],
              ['Package manager', MANAGERS[update.ecosystem]],
              ['From', <Version key="from" text={update.current_version} />],
              ['To', <Version key="to" text={update.available_version} />],
              ['State', update.state.replaceAll('_', ' ')],
              [
                'Id of the update',
                <span key="id" className="mono break-all">
                  {id}
                </span>,
              ],
            ]}
          />
        </Panel>
        <Panel title="From found to installed">
          {failed && <ErrorPanel error={failed.error} retry={() => void failed.refetch()} />}
          {!failed && decisions.data && commands.data && changes.data ? (
            <Steps
              steps={recordOf({
                update,
                ...{ decisions: decisions.data.items, commands: commands.data.items },
                changes: changes.data.items.filter((change) => change.name === name),
              })}
            />
          ) : (
            !failed && <Skeleton rows={7} />
          )}
        </Panel>
      </div>
    </Page>
  );
}

function Steps({ steps }: { steps: ReturnType<typeof recordOf> }) {
  return (
    <ol aria-label="Steps" className="space-y-3">
      {steps.map(({ label, at, text, sha256 }) => (
        <li key={label} className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 break-inside-avoid">
          {at === null ? (
            <Circle aria-hidden="true" className="mt-0.5 size-4 text-muted" />
          ) : (
            <Check aria-hidden="true" className="mt-0.5 size-4 text-good" />
          )}
          <div className="min-w-0">
            <p className="flex flex-wrap gap-x-3">
              <span className="font-medium">{label}</span>
              {at === null ? (
                <span className="text-muted">no time on record</span>
              ) : (
                // Paper has no hover: the exact time.
                <time dateTime={at} className="tabular-nums">
                  {at.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC')}
                </time>
              )}
            </p>
            <p className="break-words text-muted">{text}</p>
            {sha256 && (
              <p className="text-muted">
                Record of the decision, SHA-256: <span className="mono break-all">{sha256}</span>
              </p>
            )}
          </div>
        </li>
      ))}
    </ol>
  );
}

function Version({ text }: { text: string }) {
  return text === '' ? (
    <span className="text-muted">it was not there</span>
  ) : (
    <span className="mono break-all">{text}</span>
  );
}
