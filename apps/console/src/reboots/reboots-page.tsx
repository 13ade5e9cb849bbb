import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { isolated } from '@tidegate/protocol/isolated';
import type { HostReboot, RebootSlot } from '@tidegate/protocol/reboots-api';
import { X } from 'lucide-react';
import { useMemo, useState } from 'react';
import { remove } from '../api/client.ts';
import { useListSearch } from '../api/list-search.ts';
import { listQuery, queryClient } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Term } from '../glossary/term.tsx';
import { IconButton } from '../ui/button.tsx';
import type { Column } from '../ui/data-table.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { FilterSelect } from '../ui/filter-select.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { None } from '../ui/none.tsx';
import { Page } from '../ui/page.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { canCancel, KINDS, REBOOTS, STATES, whyText } from './reboot-words.ts';
import { ReleaseSlot } from './release-slot.tsx';
import { SlotGroups } from './slot-groups.tsx';

const FILTERS = ['state', 'kind'] as const;

/** Reboots and restarts of services: the slots of each group, and the hosts that wait, run or are done. */
export function RebootsPage() {
  const list = useListSearch(FILTERS);
  const { filter, setFilter } = list;
  const { may } = useSession();
  const isAdmin = may('admin');
  const [releasing, setReleasing] = useState<RebootSlot | null>(null);
  const [cancelling, setCancelling] = useState<HostReboot | null>(null);
  const columns = useMemo(() => columnsOf(isAdmin ? setCancelling : null), [isAdmin]);
  const query = useQuery(listQuery<HostReboot>('commands', REBOOTS, list.query));
  return (
    <Page
      title="Reboots"
      lead={
        <>
          Hosts of a group go down <Term of="slot">a few at a time</Term>, and the next one only when those
          before are back and well.
        </>
      }
    >
      <div className="space-y-4">
        <section aria-labelledby="slots" className="space-y-2 [&>[role=alert]]:mx-0">
          <h2 id="slots" className="font-semibold">
            Slots
          </h2>
          <SlotGroups onRelease={isAdmin ? setReleasing : null} />
        </section>
        <section aria-labelledby="queue" className="space-y-2">
          <h2 id="queue" className="font-semibold">
            Queue
          </h2>
          <ListTable
            list={list}
            query={query}
            noun="reboots"
            toolbar={
              <>
                <FilterSelect
                  label="State"
                  value={filter.state}
                  choices={STATES}
                  onChoose={(state) => setFilter({ state })}
                />
                <FilterSelect
                  label="What"
                  value={filter.kind}
                  choices={KINDS}
                  onChoose={(kind) => setFilter({ kind })}
                />
              </>
            }
            empty={
              <EmptyState
                title="No host is in the queue"
                action={<Link to="/policies">See the policies</Link>}
              >
                A policy asks for the reboots that it is told to ask for. Without one,{' '}
                <code>tidegate reboots ask</code> asks for one by hand.
              </EmptyState>
            }
            label="Reboots and restarts of services"
            columns={columns}
            rowId={({ id }) => id}
          />
        </section>
      </div>
      {releasing && <ReleaseSlot slot={releasing} onClose={() => setReleasing(null)} />}
      {cancelling && <CancelReboot reboot={cancelling} onClose={() => setCancelling(null)} />}
    </Page>
  );
}

function CancelReboot({
  reboot: { id, hostname, state, kind },
  onClose,
}: {
  reboot: HostReboot;
  onClose: () => void;
}) {
  const cancel = async () => {
    await remove(`${REBOOTS}/${id}`);
    toast(
      state === 'queued'
        ? `${isolated(hostname)} is out of the queue.`
        : `${isolated(hostname)} is told to call it off.`,
    );
    await queryClient.invalidateQueries({ queryKey: ['commands'] });
  };
  return (
    <ConfirmDialog
      title={`Cancel the ${KINDS[kind]} of ${isolated(hostname)}`}
      confirm="Cancel it"
      onConfirm={cancel}
      onClose={onClose}
    >
      <p>
        {state === 'queued'
          ? 'The host leaves the queue. Who asked for it can ask again.'
          : 'The host has the command. It calls it off unless it has begun.'}
      </p>
    </ConfirmDialog>
  );
}

function columnsOf(onCancel: ((reboot: HostReboot) => void) | null): readonly Column<HostReboot>[] {
  const columns: readonly Column<HostReboot>[] = [
    {
      id: 'host',
      header: 'Host',
      cell: ({ agent_id: id, hostname }) => (
        <Link to="/hosts/$id" params={{ id }} className="font-medium break-words">
          {hostname}
        </Link>
      ),
    },
    { id: 'state', header: 'State', part: 'pinned', folds: true, cell: ({ state }) => STATES[state] },
    { id: 'kind', header: 'What', cell: ({ kind }) => KINDS[kind] },
    {
      id: 'why',
      header: 'Details',
      wide: true,
      wraps: true,
      cell: (reboot) => {
        const text = whyText(reboot);
        return text === '' ? <None word="–" /> : <span title={text}>{text}</span>;
      },
    },
    {
      id: 'reason',
      header: 'Reason',
      wide: true,
      wraps: true,
      cell: ({ reason, asked_by: by }) => (
        <span title={`${isolated(reason)} (${isolated(by)})`}>{reason}</span>
      ),
    },
    { id: 'deadline', header: 'Deadline', cell: ({ deadline }) => <Time at={deadline} /> },
  ];
  if (onCancel === null) return columns;
  const cancel: Column<HostReboot> = {
    id: 'cancel',
    header: 'Actions',
    cell: (reboot) =>
      canCancel(reboot) && (
        <IconButton
          word="Cancel"
          label={`Cancel the ${KINDS[reboot.kind]} of ${isolated(reboot.hostname)}`}
          onClick={() => onCancel(reboot)}
        >
          <X aria-hidden="true" className="size-4" />
        </IconButton>
      ),
  };
  return [...columns, cancel];
}
