import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { NoticeSet } from '@tidegate/protocol/notifications-api';
import type { UpdateItem } from '@tidegate/protocol/updates-api';
import { Check } from 'lucide-react';
import { useMemo, useState } from 'react';
import { oneQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { EventSeverityBadge } from '../events/event-badges.tsx';
import { BulkBar } from '../ui/bulk-bar.tsx';
import { Button } from '../ui/button.tsx';
import { DataTable } from '../ui/data-table.tsx';
import { Page } from '../ui/page.tsx';
import { useSelection } from '../ui/selection.ts';
import { EmptyState, ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { BulkApproval } from '../updates/bulk-approval.tsx';
import type { Chosen } from '../updates/bulk-rules.ts';
import { HIDDEN_AT_FIRST, UPDATE_COLUMNS } from '../updates/update-columns.tsx';
import { counted } from '../updates/update-words.ts';
import { useListActions } from '../updates/use-list-actions.tsx';

const HIDDEN: ReadonlySet<string> = new Set(HIDDEN_AT_FIRST);

/** What the link of a notice opens: the updates that it speaks of, as they are now. It decides nothing by itself. */
export function NoticePage() {
  const { id = '' } = useParams({ strict: false });
  const { data, error, isPending, refetch } = useQuery(
    oneQuery<NoticeSet>('updates', `/api/v1/notifications/notices/${id}`),
  );
  return (
    <Page title={data?.subject ?? 'Notice'} lead={data && <Lead notice={data} />}>
      {error && <ErrorPanel error={error} retry={() => void refetch()} />}
      {isPending && !error && <Skeleton />}
      {data && <NoticeUpdates id={id} notice={data} />}
    </Page>
  );
}

function Lead({ notice: { at, severity, subject, summary } }: { notice: NoticeSet }) {
  return (
    <>
      <p>
        <EventSeverityBadge severity={severity} /> Sent <Time at={at} />. Below is how it is now.
      </p>
      {summary && summary !== subject && <p className="whitespace-pre-line">{summary}</p>}
    </>
  );
}

function NoticeUpdates({ id, notice: { updates, left_out: leftOut } }: { id: string; notice: NoticeSet }) {
  const navigate = useNavigate();
  const { may } = useSession();
  const selection = useSelection(id);
  const [active, setActive] = useState<UpdateItem | null>(null);
  const [approving, setApproving] = useState<Chosen | null>(null);
  const chosen = useMemo(() => (selection.ids.size > 0 ? idsOf([...selection.ids]) : null), [selection]);
  const verbs = useListActions({ selection, chosen, rows: updates, active, onApprove: setApproving });
  const waiting = updates.filter(({ state }) => state === 'pending');
  const known = new Map(updates.map((update) => [update.id, update]));
  const isApprover = may('approver');
  return (
    <>
      <section className="rounded-xl border border-line bg-surface">
        <div className="flex flex-wrap items-center justify-between gap-2 border-b border-line px-3 py-2.5">
          <p role="status">
            {waiting.length === 0
              ? 'Nothing of it waits for a decision any more.'
              : `${waiting.length} of ${counted(updates.length, 'update')} ${waiting.length === 1 ? 'waits' : 'wait'} for a decision.`}
            {leftOut > 0 && ` The notice spoke of ${leftOut.toLocaleString('en')} more.`}
          </p>
          {isApprover && waiting.length > 0 && (
            <Button
              tone="primary"
              icon={<Check aria-hidden="true" className="size-4" />}
              onClick={() => setApproving(idsOf(waiting.map((update) => update.id)))}
            >
              Review and approve {waiting.length.toLocaleString('en')}
            </Button>
          )}
        </div>
        {updates.length === 0 ? (
          <EmptyState title="No update of it is left" action={<Link to="/updates">See all updates</Link>}>
            Their hosts no longer report them: they are installed, or newer versions took their place.
          </EmptyState>
        ) : (
          <DataTable
            {...{ label: 'Updates of the notice', columns: UPDATE_COLUMNS, rows: updates, hidden: HIDDEN }}
            rowId={(update) => update.id}
            rowName={({ name, hostname }) => `${name} on ${hostname}`}
            onOpen={(update) => void navigate({ to: '/updates/$id', params: { id: update.id } })}
            onActive={setActive}
            {...(isApprover ? { selection } : {})}
          />
        )}
      </section>
      <BulkBar
        count={selection.ids.size}
        noun={selection.ids.size === 1 ? 'update' : 'updates'}
        onClear={selection.clear}
      >
        {verbs.map(({ id: key, label, icon, shortcut, isAllowed, run }) => (
          <Button
            key={key}
            tone={key === 'approve' ? 'primary' : 'plain'}
            icon={icon}
            shortcut={shortcut?.toUpperCase()}
            disabled={!isAllowed}
            onClick={run}
          >
            {label}
          </Button>
        ))}
      </BulkBar>
      {approving && (
        <BulkApproval
          {...{ chosen: approving, known }}
          onDone={selection.clear}
          onClose={() => setApproving(null)}
        />
      )}
    </>
  );
}

function idsOf(ids: readonly string[]): Chosen {
  return { kind: 'ids', ids };
}
