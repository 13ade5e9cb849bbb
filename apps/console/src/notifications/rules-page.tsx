import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { isolated } from '@tidegate/protocol/isolated';
import type { NotificationChannel, NotificationRule } from '@tidegate/protocol/notifications-api';
import { CircleCheck, CircleOff, Ellipsis, Moon, Plus } from 'lucide-react';
import { useMemo, useState } from 'react';
import type { Action } from '../actions/actions.ts';
import { useActions } from '../actions/registry.ts';
import { put, remove } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Badge } from '../ui/badge.tsx';
import { Button, IconButton } from '../ui/button.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { ListPanel } from '../ui/list-panel.tsx';
import { Menu } from '../ui/menu.tsx';
import { NextTime } from '../ui/next-time.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { attempt, toast } from '../ui/toasts.tsx';
import { CHANNELS } from './channel-rules.ts';
import { NotificationsFrame } from './notifications-frame.tsx';
import { RuleDialog } from './rule-dialog.tsx';
import { conditionsText, modeText, RULES, switchedRule } from './rule-draft.ts';
import { ONE_PAGE, wholeList } from './whole-list.ts';

type Open =
  | { readonly kind: 'add' }
  | { readonly kind: 'change' | 'remove'; readonly rule: NotificationRule };

const ADD = { id: 'add-rule', label: 'Add a rule', group: 'Notifications' } as const;

/** Who is told of what, and when. */
export function RulesPage() {
  const query = useQuery(wholeList<NotificationRule>(RULES));
  const { data } = useQuery(wholeList<NotificationChannel>(CHANNELS));
  const channels = data?.items ?? [];
  const [open, setOpen] = useState<Open | null>(null);
  const columns = useMemo(() => columnsOf(setOpen), []);
  const close = () => setOpen(null);
  const add = () => setOpen({ kind: 'add' });
  const isReady = channels.length > 0;
  useActions(useMemo(() => [{ ...ADD, isAllowed: isReady, run: () => setOpen({ kind: 'add' }) }], [isReady]));
  return (
    <NotificationsFrame
      lead="Which events are sent, when, and to which channel."
      actions={
        <Button
          tone="primary"
          icon={<Plus aria-hidden="true" className="size-4" />}
          disabled={!isReady}
          onClick={add}
        >
          {ADD.label}
        </Button>
      }
    >
      <ListPanel
        query={query}
        noun="rules"
        pager={ONE_PAGE}
        clearFilter={null}
        empty={
          <EmptyState
            title="No rules"
            action={!isReady && <Link to="/notifications">Add a channel first</Link>}
          >
            Begin with a digest each morning, and an escalation when nobody decides on an exploited fix.
          </EmptyState>
        }
      >
        {(rows) => (
          <DataTable
            {...{ label: 'Rules', columns, rows }}
            rowId={({ id }) => id}
            onOpen={(rule) => setOpen({ kind: 'change', rule })}
          />
        )}
      </ListPanel>
      {(open?.kind === 'add' || open?.kind === 'change') && (
        <RuleDialog rule={open.kind === 'add' ? null : open.rule} channels={channels} onClose={close} />
      )}
      {open?.kind === 'remove' && (
        <ConfirmDialog
          title={`Remove ${isolated(open.rule.name)}?`}
          confirm="Remove"
          onConfirm={() => change(() => remove(`${RULES}/${open.rule.id}`))}
          onClose={close}
        >
          <p>Nobody is told any more what only this rule told. What it has queued is still sent.</p>
        </ConfirmDialog>
      )}
    </NotificationsFrame>
  );
}

async function change<T>(act: () => Promise<T>): Promise<T> {
  const answer = await withStepUp(act);
  await queryClient.invalidateQueries({ queryKey: ['notifications'] });
  return answer;
}

function columnsOf(open: (next: Open) => void): readonly Column<NotificationRule>[] {
  return [
    { id: 'name', header: 'Name', cell: ({ name }) => <span className="font-medium">{name}</span> },
    { id: 'state', header: 'State', part: 'pinned', cell: (rule) => <RuleState rule={rule} /> },
    {
      id: 'about',
      header: 'About',
      wide: true,
      wraps: true,
      cell: (rule) => <span title={conditionsText(rule)}>{conditionsText(rule)}</span>,
    },
    {
      id: 'when',
      header: 'When',
      wraps: true,
      cell: ({ mode, next_digest_at: next }) => (
        <>
          {modeText(mode)}
          {next && <NextTime at={next} />}
        </>
      ),
    },
    { id: 'channel', header: 'Channel', cell: ({ channel_name }) => channel_name },
    {
      id: 'acts',
      header: 'Actions',
      cell: (rule) => (
        <Menu
          actions={actionsOf(rule, open)}
          trigger={
            <IconButton word="Actions" label={`Actions for ${isolated(rule.name)}`}>
              <Ellipsis aria-hidden="true" className="size-4" />
            </IconButton>
          }
        />
      ),
    },
  ];
}

function RuleState({ rule: { is_enabled, quiet_until } }: { rule: NotificationRule }) {
  if (!is_enabled)
    return (
      <Badge tone="neutral" icon={<CircleOff />}>
        off
      </Badge>
    );
  if (quiet_until !== null)
    return (
      <>
        <Badge tone="accent" icon={<Moon />}>
          quiet
        </Badge>{' '}
        until <Time at={quiet_until} />
      </>
    );
  return (
    <Badge tone="good" icon={<CircleCheck />}>
      on
    </Badge>
  );
}

function actionsOf(rule: NotificationRule, open: (next: Open) => void): readonly Action[] {
  const { id, name, is_enabled } = rule;
  const flip = async () => {
    await change(() => put<NotificationRule>(`${RULES}/${id}`, switchedRule(rule)));
    toast(
      is_enabled
        ? `${isolated(name)} is off.`
        : `${isolated(name)} is on again, for what happens from now on.`,
    );
  };
  const one = (key: string, label: string, run: () => void): Action => ({
    ...{ id: key, label, run, group: name, isAllowed: true },
  });
  return [
    one('change', 'Change', () => open({ kind: 'change', rule })),
    one('switch', is_enabled ? 'Turn off' : 'Turn on', () => void attempt(flip)),
    one('remove', 'Remove', () => open({ kind: 'remove', rule })),
  ];
}
