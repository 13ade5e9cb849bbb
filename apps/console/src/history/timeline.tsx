import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { CommandItem } from '@tidegate/protocol/commands-api';
import { narrativeOf } from '@tidegate/protocol/event-narratives';
import type { KnownSince, PackageChange } from '@tidegate/protocol/package-history-api';
import { CircleCheck, Package, PackageOpen, Power, Send, Tag, Zap } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Page } from '../api/client.ts';
import { oneQuery } from '../api/queries.ts';
import { longDate } from '../calendar/calendar-rules.ts';
import { CommandPackages } from '../commands/command-packages.tsx';
import { ACTION_WORDS, CommandStatusBadge } from '../commands/command-words.tsx';
import type { EventItem } from '../events/event-item.ts';
import { ownZone } from '../policies/window-times.tsx';
import { Button } from '../ui/button.tsx';
import { EmptyState, ErrorPanel, Skeleton } from '../ui/states.tsx';
import { CauseLine, ChangeLine } from './change-words.tsx';
import { byDay, ENTRY_KINDS, type Entry, type EntryKind, timelineOf } from './timeline-rules.ts';

/** The most that a list gives at once. */
const PAGE = 200;
/** Packages of one entry that are listed before the rest is folded. */
const SHOWN = 5;

const ICONS: Readonly<Record<EntryKind, ReactNode>> = {
  packages: <Package className="size-4 text-good" aria-hidden="true" />,
  outside: <PackageOpen className="size-4 text-warn" aria-hidden="true" />,
  approvals: <CircleCheck className="size-4 text-accent" aria-hidden="true" />,
  commands: <Send className="size-4 text-muted" aria-hidden="true" />,
  reboots: <Power className="size-4 text-accent" aria-hidden="true" />,
  labels: <Tag className="size-4 text-muted" aria-hidden="true" />,
  others: <Zap className="size-4 text-muted" aria-hidden="true" />,
};

interface Changes extends Page<PackageChange> {
  readonly ecosystems: readonly KnownSince[];
}

function useSources(id: string, { since, q }: { since: string; q: string | undefined }) {
  const path = `/api/v1/agents/${encodeURIComponent(id)}/inventory/changes`;
  const of = { agent_id: id, since, limit: PAGE };
  const placeholderData = keepPreviousData;
  // Under topics of what brings them, so that they follow it.
  const changes = useQuery({
    ...oneQuery<Changes>('updates', path, { since, q, limit: PAGE }),
    placeholderData,
  });
  const events = useQuery({ ...oneQuery<Page<EventItem>>('events', '/api/v1/events', of), placeholderData });
  const commands = useQuery({
    ...oneQuery<Page<CommandItem>>('commands', '/api/v1/commands', of),
    placeholderData,
  });
  return { changes, events, commands };
}

/** What happened on a host since a time, by day. With a part of a package's name: its changes alone. */
export function Timeline({
  id,
  since,
  kind,
  q,
  clear,
}: {
  id: string;
  since: string;
  kind: EntryKind | undefined;
  q: string | undefined;
  /** Clears the filter; null without one. */
  clear: (() => void) | null;
}) {
  const queries = useSources(id, { since, q });
  const failed = Object.values(queries).find(({ error }) => error !== null);
  if (failed) return <ErrorPanel error={failed.error} retry={() => void failed.refetch()} />;
  const { changes, events, commands } = queries;
  if (!changes.data || !events.data || !commands.data) return <Skeleton />;
  const none = { items: [], next_cursor: null };
  const sources =
    q === undefined
      ? { changes: changes.data, events: events.data, commands: commands.data }
      : { changes: changes.data, events: none, commands: none };
  const { entries, backTo } = timelineOf(sources, kind);
  if (entries.length === 0) return <Nothing isReported={changes.data.ecosystems.length > 0} clear={clear} />;
  const zone = ownZone();
  return (
    <>
      {byDay(entries, zone).map(([day, some]) => (
        <section key={day} aria-label={longDate(day)} className="border-b border-line last:border-b-0">
          <h2 className="bg-sunken px-4 py-1.5 font-semibold">{longDate(day)}</h2>
          <ol className="divide-y divide-line">
            {some.map((entry) => (
              <EntryRow key={entry.id} entry={entry} zone={zone} />
            ))}
          </ol>
        </section>
      ))}
      {backTo !== null && (
        <p role="status" className="px-4 py-3 text-muted">
          The newest {PAGE} of each kind are listed. There is more before: choose a shorter period, a kind or
          a package.
        </p>
      )}
    </>
  );
}

function EntryRow({ entry, zone }: { entry: Entry; zone: string }) {
  const time = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit' });
  return (
    <li className="grid grid-cols-[auto_auto_minmax(0,1fr)] items-start gap-x-3 px-4 py-2">
      <time
        dateTime={entry.at}
        title={entry.at.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC')}
        className="text-muted tabular-nums"
      >
        {time.format(Date.parse(entry.at))}
      </time>
      <span title={ENTRY_KINDS[entry.kind]} className="mt-0.5">
        {ICONS[entry.kind]}
        <span className="sr-only">{ENTRY_KINDS[entry.kind]}:</span>
      </span>
      <div className="min-w-0">
        <EntryText entry={entry} />
      </div>
    </li>
  );
}

function EntryText({ entry }: { entry: Entry }) {
  if ('event' in entry) {
    return (
      <Link
        to="/events/$id"
        params={{ id: entry.event.id }}
        className="break-words text-text no-underline hover:underline"
      >
        {narrativeOf(entry.event)}
      </Link>
    );
  }
  if ('command' in entry) {
    const { id, action, status, created_by: by, packages } = entry.command;
    return (
      <div className="flex flex-wrap items-center gap-x-2">
        <p className="min-w-0 break-words">
          {by} asked the host to{' '}
          <Link to="/commands/$id" params={{ id }}>
            {ACTION_WORDS[action]}
          </Link>
        </p>
        <CommandStatusBadge status={status} />
        {packages.total > 0 && (
          <span className="min-w-0 break-all">
            <CommandPackages of={packages} empty="" />
          </span>
        )}
      </div>
    );
  }
  const [first] = entry.changes;
  const rest = entry.changes.slice(SHOWN);
  const line = (change: PackageChange) => (
    <li key={change.position}>
      <ChangeLine change={change} />
    </li>
  );
  return (
    <div className="space-y-1">
      <ul className="space-y-1">{entry.changes.slice(0, SHOWN).map(line)}</ul>
      {rest.length > 0 && (
        <details>
          <summary className="min-h-6 w-fit rounded px-1 text-muted hover:text-text">
            {rest.length.toLocaleString('en')} more packages
          </summary>
          <ul className="mt-1 space-y-1">{rest.map(line)}</ul>
        </details>
      )}
      {first && (
        <p>
          <CauseLine {...first} />
        </p>
      )}
    </div>
  );
}

function Nothing({ isReported, clear }: { isReported: boolean; clear: (() => void) | null }) {
  if (clear) {
    return (
      <EmptyState
        title="Nothing in this period matches the filter"
        action={<Button onClick={clear}>Clear the filter</Button>}
      />
    );
  }
  return (
    <EmptyState title="Nothing happened in this period">
      {isReported
        ? 'No package changed, and nobody asked the host for anything.'
        : 'The host has not reported its packages yet. Their changes are kept from the first report on.'}
    </EmptyState>
  );
}
