import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ApprovalOfUpdate } from '@tidegate/protocol/approval-record-api';
import type { CommandItem } from '@tidegate/protocol/commands-api';
import type { DecisionItem } from '@tidegate/protocol/decisions-api';
import { isolated } from '@tidegate/protocol/isolated';
import type { PackageChange } from '@tidegate/protocol/package-history-api';
import { Check, Circle, Printer, TriangleAlert } from 'lucide-react';
import type { Page as ListPage } from '../api/client.ts';
import { oneQuery } from '../api/queries.ts';
import { MANAGERS } from '../hosts/package-managers.ts';
import { Button } from '../ui/button.tsx';
import { Facts, Page, Panel } from '../ui/page.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { useNow } from '../ui/time.tsx';
import { utcText } from '../ui/utc-text.ts';
import { type UpdateView, updateQuery } from '../updates/update-view.ts';
import { type Note, type NoteLink, type RecordStep, recordOf } from './record-rules.ts';

/** How one update came to a host: found, judged, approved, signed, installed. It prints on one sheet. */
export function RecordPage() {
  const { id = '' } = useParams({ strict: false });
  const { data: update, error, refetch } = useQuery(updateQuery(id));
  if (update) return <RecordOf key={id} update={update} />;
  return (
    <Page title="Record of an installation">
      {error ? <ErrorPanel error={error} retry={() => void refetch()} /> : <Skeleton as="panels" />}
    </Page>
  );
}

function RecordOf({ update }: { update: UpdateView }) {
  const { id, agent_id: agentId, name, hostname } = update;
  const host = encodeURIComponent(agentId);
  const queries = [
    useQuery(oneQuery<ApprovalOfUpdate>('updates', `/api/v1/updates/${id}/approval`)),
    useQuery(oneQuery<ListPage<DecisionItem>>('updates', `/api/v1/updates/${id}/decisions`)),
    useQuery(oneQuery<ListPage<CommandItem>>('commands', '/api/v1/commands', { update_id: id })),
    useQuery(
      oneQuery<ListPage<PackageChange>>('updates', `/api/v1/agents/${host}/inventory/changes`, {
        ...{ q: name.slice(0, 128), ecosystem: update.ecosystem, limit: 200 },
      }),
    ),
  ] as const;
  const [approval, decisions, commands, changes] = queries;
  const now = new Date(useNow()).toISOString();
  const failed = queries.find(({ error }) => error !== null);
  return (
    <Page
      title={`Record: ${isolated(name)} on ${isolated(hostname)}`}
      lead={
        <>
          <span className="flex flex-wrap gap-x-4 print:hidden">
            <Link to="/updates/$id" params={{ id }} className="inline-block py-1">
              The update
            </Link>
            <Link to="/hosts/$id/history" params={{ id: agentId }} className="inline-block py-1">
              History of <bdi>{hostname}</bdi>
            </Link>
          </span>
          <span className="hidden print:inline">
            Tidegate at {location.origin}, {utcText(now)}
          </span>
        </>
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
          {!failed && approval.data && decisions.data && commands.data && changes.data ? (
            <>
              <Steps
                steps={recordOf({
                  ...{ update, approval: approval.data.approval },
                  ...{ decisions: decisions.data.items, commands: commands.data.items },
                  changes: changes.data.items.filter((change) => change.name === name),
                })}
              />
              <p className="mt-4 text-muted print:mt-2">
                Downloaded and Installed have the time of the host's clock, the other steps that of the
                server's.
              </p>
            </>
          ) : (
            !failed && <Skeleton rows={7} />
          )}
        </Panel>
      </div>
    </Page>
  );
}

function Steps({ steps }: { steps: readonly RecordStep[] }) {
  return (
    <ol aria-label="Steps" className="space-y-3 print:space-y-2">
      {steps.map(({ label, at, text, notes }) => (
        <li key={`${label} ${at} ${text}`} className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3">
          <StepIcon at={at} notes={notes} />
          <div className="min-w-0 space-y-0.5">
            <p className="flex break-after-avoid flex-wrap gap-x-3">
              <span className="font-medium">{label}</span>
              {at === null ? (
                <span className="text-muted">no time on record</span>
              ) : (
                // Paper has no hover: the exact time.
                <time dateTime={at} className="tabular-nums">
                  {utcText(at)}
                </time>
              )}
            </p>
            <p className="break-words">{text}</p>
            {notes.map((note) => (
              <NoteLine key={`${note.text} ${note.link?.to}`} note={note} />
            ))}
          </div>
        </li>
      ))}
    </ol>
  );
}

function StepIcon({ at, notes }: Pick<RecordStep, 'at' | 'notes'>) {
  if (notes.some(({ tone }) => tone === 'bad'))
    return <TriangleAlert aria-hidden="true" className="mt-0.5 size-4 text-bad" />;
  return at === null ? (
    <Circle aria-hidden="true" className="mt-0.5 size-4 text-muted" />
  ) : (
    <Check aria-hidden="true" className="mt-0.5 size-4 text-good" />
  );
}

function NoteLine({ note: { text, tone, quote, hash, link } }: { note: Note }) {
  return (
    <>
      <p className={`break-words ${tone === 'bad' ? 'font-medium text-bad' : 'text-muted'}`}>
        {tone === 'bad' && (
          <TriangleAlert aria-hidden="true" className="mr-1 inline size-4 align-text-bottom" />
        )}
        {text} {hash && <span className="mono wrap-anywhere">{hash}</span>} {link && <LinkOf link={link} />}
      </p>
      {quote !== undefined && (
        <blockquote className="border-l-2 border-line pl-3 wrap-anywhere whitespace-pre-wrap">
          {quote}
        </blockquote>
      )}
    </>
  );
}

function LinkOf({ link }: { link: NoteLink }) {
  switch (link.to) {
    case '/policies/$id':
      return (
        <Link to={link.to} params={{ id: link.id }}>
          The policy
        </Link>
      );
    case '/events/$id':
      return (
        <>
          <Link to={link.to} params={{ id: link.id }}>
            {link.of === undefined ? 'Event in the log' : `Event of the ${link.of}`}
          </Link>
          <IdOnPaper id={link.id} />
        </>
      );
    case '/commands/$id':
      return (
        <>
          <Link to={link.to} params={{ id: link.id }}>
            The command
          </Link>
          <IdOnPaper id={link.id} />
        </>
      );
    case '/statements':
      return <Link to={link.to}>Statements</Link>;
    case '/exceptions':
      return <Link to={link.to}>Exceptions</Link>;
    case '/origins':
      return <Link to={link.to}>Origins</Link>;
  }
}

/** Paper has no links. */
function IdOnPaper({ id }: { id: string }) {
  return <span className="mono ml-1 hidden wrap-anywhere print:inline-block">{id}</span>;
}

function Version({ text }: { text: string }) {
  return text === '' ? (
    <span className="text-muted">it was not there</span>
  ) : (
    <span className="mono break-all">{text}</span>
  );
}
