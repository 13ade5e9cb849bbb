import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { counted } from '@tidegate/protocol/count-words';
import { isolated } from '@tidegate/protocol/isolated';
import type { NoticeSet } from '@tidegate/protocol/notifications-api';
import type { UpdateItem } from '@tidegate/protocol/updates-api';
import { Check } from 'lucide-react';
import { useMemo, useState } from 'react';
import { oneQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { BulkBar } from '../ui/bulk-bar.tsx';
import { Button } from '../ui/button.tsx';
import { DataTable } from '../ui/data-table.tsx';
import { Page } from '../ui/page.tsx';
import { useSelection } from '../ui/selection.ts';
import { EmptyState, ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { BulkApproval } from './bulk-approval.tsx';
import { HIDDEN_AT_FIRST, UPDATE_COLUMNS } from './update-columns.tsx';
import { STATE_VERBS } from './update-words.ts';

/** Rows come from one answer, which is not sorted by the server. */
const COLUMNS = UPDATE_COLUMNS.map(({ sort: _, sortFirst: __, ...column }) => column);
const HIDDEN = new Set(HIDDEN_AT_FIRST);

/** What the link of a notice opens: the updates that it speaks of, as they are now. It decides nothing. */
export function NoticePage() {
  const { id = '' } = useParams({ strict: false });
  const query = useQuery(oneQuery<NoticeSet>('updates', `/api/v1/notifications/notices/${id}`));
  const { data: notice, error, refetch } = query;
  if (!notice)
    return (
      <Page title="Message">
        {error ? <ErrorPanel error={error} retry={() => void refetch()} /> : <Skeleton as="panels" />}
      </Page>
    );
  return (
    <Page
      title={notice.subject ?? 'Message'}
      lead={
        <>
          Sent <Time at={notice.at} />. <bdi>{notice.summary}</bdi> The updates are shown as they are now.
        </>
      }
    >
      {error && <ErrorPanel error={error} retry={() => void refetch()} />}
      {notice.updates.length > 0 ? (
        <Updates key={notice.id} notice={notice} />
      ) : (
        <EmptyState title="The message names no update that still exists">
          Its updates were removed with their hosts, or it is about something else.
        </EmptyState>
      )}
    </Page>
  );
}

function Updates({ notice: { id, updates, left_out: leftOut } }: { notice: NoticeSet }) {
  const navigate = useNavigate();
  const { may } = useSession();
  const selection = useSelection(id);
  const [asked, setAsked] = useState<readonly string[]>([]);
  const known = useMemo(() => new Map(updates.map((update) => [update.id, update])), [updates]);
  const approvable = updates.filter(({ state }) => STATE_VERBS[state].approve);
  const chosen = approvable.filter((update) => selection.has(update.id)).map(idOf);
  const isApprover = may('approver');
  return (
    <>
      <div className="mb-3 flex flex-wrap items-center justify-between gap-2">
        <p role="status">
          {counted(updates.length, 'update')}, {approvable.length.toLocaleString('en')} waiting for a
          decision.
          {leftOut > 0 &&
            ` The message spoke of ${leftOut.toLocaleString('en')} more, which are in the list of updates.`}
        </p>
        {isApprover && approvable.length > 0 && (
          <Button onClick={() => selection.setAll(approvable.map(idOf), true)}>Select all that wait</Button>
        )}
      </div>
      <div className="rounded-xl border border-line bg-surface">
        <DataTable
          label="Updates of the message"
          columns={COLUMNS}
          rows={updates}
          rowId={idOf}
          rowName={nameOf}
          onOpen={(update) => void navigate({ to: '/updates/$id', params: { id: update.id } })}
          hidden={HIDDEN}
          {...(isApprover ? { selection } : {})}
        />
      </div>
      <BulkBar count={selection.ids.size} noun="updates" onClear={selection.clear}>
        <Button
          tone="primary"
          icon={<Check aria-hidden="true" className="size-4" />}
          disabled={chosen.length === 0}
          onClick={() => setAsked(chosen)}
        >
          Approve
        </Button>
      </BulkBar>
      {asked.length > 0 && (
        <BulkApproval
          chosen={{ kind: 'ids', ids: asked }}
          known={known}
          onDone={selection.clear}
          onClose={() => setAsked([])}
        />
      )}
    </>
  );
}

const idOf = (update: UpdateItem) => update.id;
const nameOf = (update: UpdateItem) => `${isolated(update.name)} on ${isolated(update.hostname)}`;
