import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
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
import { NextTime } from '../ui/next-time.tsx';
import { None } from '../ui/none.tsx';
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
    wide: true,
    wraps: true,
    cell: ({ subject }) => (
      <span className="font-medium" title={subject}>
        {subject}
      </span>
    ),
  },
  { id: 'state', header: 'State', part: 'pinned', cell: (delivery) => <Standing delivery={delivery} /> },
  { id: 'severity', header: 'Severity', cell: ({ severity }) => <EventSeverityBadge severity={severity} /> },
  {
    id: 'channel',
    header: 'Channel and rule',
    folds: true,
    cell: ({ channel_name: channel, rule_name: rule, kind }) => (
      <>
        <bdi>{channel}</bdi>
        <p className="text-muted">
          <bdi>{rule ?? KIND_WORDS[kind]}</bdi>
        </p>
      </>
    ),
  },
  {
    id: 'last',
    header: 'Last attempt',
    wraps: true,
    cell: (delivery) => <LastAttempt delivery={delivery} />,
  },
  { id: 'created_at', header: 'Created', cell: ({ created_at }) => <Time at={created_at} /> },
];

/** The state, after how many attempts, and when the next one is. */
function Standing({ delivery: { state, attempts, next_attempt_at: next } }: { delivery: Delivery }) {
  return (
    <>
      <DeliveryState state={state} />
      {attempts > 1 && <p className="text-muted">{attempts} attempts</p>}
      {next && <NextTime what="next try" at={next} />}
    </>
  );
}

function LastAttempt({ delivery: { last_attempt: last } }: { delivery: Delivery }) {
  if (last === null) return <None word="none yet" />;
  const words = last.reason ?? last.answer ?? '';
  return <span title={words}>{words}</span>;
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
        empty={
          <EmptyState title="Nothing was sent yet" action={<Link to="/notifications">See the channels</Link>}>
            A test of a channel is listed here, too.
          </EmptyState>
        }
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
