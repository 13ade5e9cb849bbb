import { useQuery } from '@tanstack/react-query';
import type { Delivery, NotificationChannel } from '@tidegate/protocol/notifications-api';
import { RotateCcw } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useActions } from '../actions/registry.ts';
import { useListSearch } from '../api/list-search.ts';
import { listQuery } from '../api/queries.ts';
import { EventSeverityBadge } from '../events/event-badges.tsx';
import { BulkBar } from '../ui/bulk-bar.tsx';
import { Button } from '../ui/button.tsx';
import type { Column } from '../ui/data-table.tsx';
import { FilterChips } from '../ui/filter-chips.tsx';
import { FilterSelect } from '../ui/filter-select.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { useSelection } from '../ui/selection.ts';
import { EmptyState } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { attempt } from '../ui/toasts.tsx';
import { CHANNELS } from './channel-rules.ts';
import { DeliveryDialog } from './delivery-dialog.tsx';
import { DeliveryState } from './delivery-state.tsx';
import { DELIVERIES, isResendable, KIND_WORDS, STATE_WORDS } from './delivery-words.ts';
import { NotificationsFrame } from './notifications-frame.tsx';
import { resendDeliveries } from './resend-deliveries.ts';
import { wholeList } from './whole-list.ts';

const FILTERS = ['state', 'kind', 'channel_id', 'rule_id'] as const;
const NONE: readonly Delivery[] = [];
const WITH_FIELD = ['state', 'kind', 'channel_id'] as const;

const COLUMNS: readonly Column<Delivery>[] = [
  {
    id: 'subject',
    header: 'Message',
    cell: ({ subject }) => (
      <span className="inline-block max-w-96 truncate align-bottom font-medium" title={subject}>
        {subject}
      </span>
    ),
  },
  { id: 'state', header: 'State', cell: ({ state }) => <DeliveryState state={state} /> },
  { id: 'severity', header: 'Severity', cell: ({ severity }) => <EventSeverityBadge severity={severity} /> },
  { id: 'channel', header: 'Channel', cell: ({ channel_name }) => channel_name },
  { id: 'rule', header: 'Rule', cell: ({ rule_name, kind }) => rule_name ?? KIND_WORDS[kind] },
  { id: 'attempts', header: 'Attempts', align: 'right', cell: ({ attempts }) => attempts },
  { id: 'last', header: 'Last attempt', wide: true, cell: (delivery) => <LastAttempt delivery={delivery} /> },
  { id: 'created_at', header: 'Made', cell: ({ created_at }) => <Time at={created_at} /> },
];

function LastAttempt({ delivery: { last_attempt: last, next_attempt_at: next } }: { delivery: Delivery }) {
  const words = last?.reason ?? last?.answer ?? '';
  return (
    <>
      <span title={words}>{last === null ? <span className="text-muted">none yet</span> : words}</span>
      {next && (
        <p className="text-muted">
          next <Time at={next} />
        </p>
      )}
    </>
  );
}

/** What was sent, what waits, and what could not be delivered. */
export function DeliveriesPage() {
  const list = useListSearch(FILTERS);
  const query = useQuery(listQuery<Delivery>('notifications', DELIVERIES, list.query));
  const { data: channels } = useQuery(wholeList<NotificationChannel>(CHANNELS));
  const selection = useSelection(list.key);
  const [opened, setOpened] = useState<string | null>(null);
  const rows = query.data?.items ?? NONE;
  const resend = useMemo(() => {
    const dead = rows.filter((delivery) => isResendable(delivery) && selection.ids.has(delivery.id));
    return {
      ...{ id: 'resend', label: 'Send again', group: 'Deliveries', shortcut: 'r' },
      icon: <RotateCcw aria-hidden="true" className="size-4" />,
      isAllowed: dead.length > 0,
      run: () =>
        void attempt(async () => {
          await resendDeliveries({ ids: dead.map(({ id }) => id) });
          selection.clear();
        }),
    };
  }, [rows, selection]);
  useActions(useMemo(() => [resend], [resend]));
  return (
    <NotificationsFrame lead="What was sent, what waits, and what could not be delivered. Kept for 30 days.">
      <ListTable
        list={list}
        query={query}
        noun="deliveries"
        empty={<EmptyState title="Nothing was sent yet">A test of a channel is listed here, too.</EmptyState>}
        toolbar={
          <>
            <FilterSelect
              {...{ label: 'State', value: list.filter.state, choices: STATE_WORDS }}
              onChoose={(state) => list.setFilter({ state })}
            />
            <FilterSelect
              {...{ label: 'Kind', value: list.filter.kind, choices: KIND_WORDS }}
              onChoose={(kind) => list.setFilter({ kind })}
            />
            <FilterSelect
              {...{ label: 'Channel', value: list.filter.channel_id }}
              choices={Object.fromEntries((channels?.items ?? []).map(({ id, name }) => [id, name]))}
              onChoose={(channel_id) => list.setFilter({ channel_id })}
            />
            <FilterChips
              filter={list.filter}
              without={WITH_FIELD}
              onRemove={(name) => list.setFilter({ [name]: undefined })}
            />
          </>
        }
        label="Deliveries"
        columns={COLUMNS}
        rowId={({ id }) => id}
        rowName={({ subject }) => subject}
        onOpen={({ id }) => setOpened(id)}
        selection={selection}
      />
      <BulkBar
        count={selection.ids.size}
        noun={selection.ids.size === 1 ? 'delivery' : 'deliveries'}
        onClear={selection.clear}
      >
        <Button
          tone="primary"
          icon={resend.icon}
          shortcut={resend.shortcut.toUpperCase()}
          disabled={!resend.isAllowed}
          onClick={resend.run}
        >
          {resend.label}
        </Button>
      </BulkBar>
      {opened !== null && (
        <DeliveryDialog
          id={opened}
          onResend={(id) => resendDeliveries({ ids: [id] })}
          onClose={() => setOpened(null)}
        />
      )}
    </NotificationsFrame>
  );
}
