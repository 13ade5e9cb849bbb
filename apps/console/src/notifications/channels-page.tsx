import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { isolated } from '@tidegate/protocol/isolated';
import type { NotificationChannel } from '@tidegate/protocol/notifications-api';
import { CircleCheck, CircleDashed, CircleOff, CircleX, Clock, Ellipsis, Plus } from 'lucide-react';
import { type ReactNode, useMemo, useState } from 'react';
import type { Action } from '../actions/actions.ts';
import { useActions } from '../actions/registry.ts';
import { put, remove } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Badge, type BadgeTone } from '../ui/badge.tsx';
import { Button, IconButton } from '../ui/button.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { ListPanel } from '../ui/list-panel.tsx';
import { Menu } from '../ui/menu.tsx';
import { NextTime } from '../ui/next-time.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { attempt, toast } from '../ui/toasts.tsx';
import { ChannelDialog } from './channel-dialog.tsx';
import { CHANNELS, KINDS, switched, targetText } from './channel-rules.ts';
import { ChannelTestDialog } from './channel-test.tsx';
import { NotificationsFrame } from './notifications-frame.tsx';
import { resendDeliveries } from './resend-deliveries.ts';
import { ONE_PAGE, wholeList } from './whole-list.ts';

type Open =
  | { readonly kind: 'add' }
  | { readonly kind: 'change' | 'test' | 'remove'; readonly channel: NotificationChannel };

/** Where notices are sent to, and whether they arrive. */
export function ChannelsPage() {
  const query = useQuery(wholeList<NotificationChannel>(CHANNELS));
  const [open, setOpen] = useState<Open | null>(null);
  const columns = useMemo(() => columnsOf(setOpen), []);
  const close = () => setOpen(null);
  const add = () => setOpen({ kind: 'add' });
  useActions(useMemo(() => [{ ...ADD, run: () => setOpen({ kind: 'add' }) }], []));
  return (
    <NotificationsFrame
      lead="Where messages are sent to. Each channel can be tested, and shows its last failure."
      actions={
        <Button tone="primary" icon={<Plus aria-hidden="true" className="size-4" />} onClick={add}>
          {ADD.label}
        </Button>
      }
    >
      <ListPanel
        query={query}
        noun="channels"
        pager={ONE_PAGE}
        clearFilter={null}
        empty={
          <EmptyState title="No channels">
            Nobody is told anything yet. Add a channel, such as mail or a chat, then a rule that sends to it.
          </EmptyState>
        }
      >
        {(rows) => (
          <DataTable
            {...{ label: 'Channels', columns, rows }}
            rowId={({ id }) => id}
            onOpen={(channel) => setOpen({ kind: 'change', channel })}
          />
        )}
      </ListPanel>
      {(open?.kind === 'add' || open?.kind === 'change') && (
        <ChannelDialog
          channel={open.kind === 'add' ? null : open.channel}
          onSaved={(channel) => setOpen({ kind: 'test', channel })}
          onClose={close}
        />
      )}
      {open?.kind === 'test' && (
        <ChannelTestDialog
          channel={open.channel}
          onChange={() => setOpen({ kind: 'change', channel: open.channel })}
          onClose={close}
        />
      )}
      {open?.kind === 'remove' && (
        <ConfirmDialog
          title={`Remove ${isolated(open.channel.name)}?`}
          confirm="Remove"
          onConfirm={() => change(() => remove(`${CHANNELS}/${open.channel.id}`))}
          onClose={close}
        >
          <p>
            Its deliveries go with it, also {open.channel.waiting} that wait and {open.channel.dead} dead
            letters. Its secret is deleted. Rules that send to it have to be changed first.
          </p>
        </ConfirmDialog>
      )}
    </NotificationsFrame>
  );
}

const ADD = { id: 'add-channel', label: 'Add a channel', group: 'Notifications', isAllowed: true } as const;

async function change<T>(act: () => Promise<T>): Promise<T> {
  const answer = await withStepUp(act);
  await queryClient.invalidateQueries({ queryKey: ['notifications'] });
  return answer;
}

const STATES: Readonly<
  Record<NotificationChannel['state'], { tone: BadgeTone; icon: ReactNode; word: string }>
> = {
  off: { tone: 'neutral', icon: <CircleOff />, word: 'off' },
  idle: { tone: 'neutral', icon: <CircleDashed />, word: 'not used yet' },
  working: { tone: 'good', icon: <CircleCheck />, word: 'works' },
  failing: { tone: 'bad', icon: <CircleX />, word: 'fails' },
  paused: { tone: 'warn', icon: <Clock />, word: 'keeps failing' },
};

function columnsOf(open: (next: Open) => void): readonly Column<NotificationChannel>[] {
  return [
    {
      id: 'name',
      header: 'Name',
      cell: (channel) => (
        <>
          <span className="font-medium">{channel.name}</span>
          <p className="text-muted">{KINDS[channel.config.kind]}</p>
        </>
      ),
    },
    {
      id: 'state',
      header: 'State',
      part: 'pinned',
      cell: ({ state }) => (
        <Badge tone={STATES[state].tone} icon={STATES[state].icon}>
          {STATES[state].word}
        </Badge>
      ),
    },
    {
      id: 'last',
      header: 'Last attempt',
      wide: true,
      wraps: true,
      cell: (channel) => <LastAttempt channel={channel} />,
    },
    {
      id: 'target',
      header: 'Sends to',
      cell: ({ config, receiver_key: key }) => (
        <div className="max-w-72">
          <p className="truncate" title={targetText(config)}>
            {targetText(config)}
          </p>
          {key && <CopyText text={key} short="public key" label="Copy the public key" />}
        </div>
      ),
    },
    {
      id: 'waiting',
      header: 'Waiting',
      align: 'right',
      cell: ({ id, waiting }) => <Count channel={id} state="waiting" count={waiting} />,
    },
    {
      id: 'dead',
      header: 'Given up',
      align: 'right',
      cell: ({ id, dead }) => <Count channel={id} state="dead" count={dead} />,
    },
    { id: 'rules', header: 'Rules', align: 'right', cell: ({ rules }) => rules },
    {
      id: 'acts',
      header: 'Actions',
      cell: (channel) => (
        <Menu
          actions={actionsOf(channel, open)}
          trigger={
            <IconButton word="Actions" label={`Actions for ${isolated(channel.name)}`}>
              <Ellipsis aria-hidden="true" className="size-4" />
            </IconButton>
          }
        />
      ),
    },
  ];
}

function LastAttempt({ channel: { last_attempt: last, next_try_at } }: { channel: NotificationChannel }) {
  if (last === null) return <span className="text-muted">nothing was sent yet</span>;
  return (
    <>
      <Time at={last.at} />
      <span title={last.reason ?? undefined}>
        : <bdi>{last.reason ?? 'delivered'}</bdi>
      </span>
      {next_try_at && <NextTime what="next try" at={next_try_at} />}
    </>
  );
}

function Count({ channel, state, count }: { channel: string; state: 'waiting' | 'dead'; count: number }) {
  if (count === 0) return 0;
  return (
    <Link to="/notifications/deliveries" search={{ channel_id: channel, state }}>
      {count.toLocaleString('en')}
    </Link>
  );
}

function actionsOf(channel: NotificationChannel, open: (next: Open) => void): readonly Action[] {
  const { id, name, is_enabled } = channel;
  const flip = async () => {
    await change(() => put<NotificationChannel>(`${CHANNELS}/${id}`, switched(channel)));
    toast(is_enabled ? `${isolated(name)} is off. Nothing is sent to it.` : `${isolated(name)} is on again.`);
  };
  const one = (key: string, label: string, run: () => void): Action => ({
    ...{ id: key, label, run, group: name, isAllowed: true },
  });
  return [
    one('test', 'Send a test', () => open({ kind: 'test', channel })),
    one('change', 'Change', () => open({ kind: 'change', channel })),
    one('switch', is_enabled ? 'Turn off' : 'Turn on', () => void attempt(flip)),
    {
      ...one('resend', 'Send again what was given up', () => {
        void attempt(() => resendDeliveries({ channel_id: id }));
      }),
      isAllowed: channel.dead > 0,
    },
    one('remove', 'Remove', () => open({ kind: 'remove', channel })),
  ];
}
