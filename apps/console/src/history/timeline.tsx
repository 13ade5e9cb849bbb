import { Link } from '@tanstack/react-router';
import { narrativeOf } from '@tidegate/protocol/event-narratives';
import type { PackageChange } from '@tidegate/protocol/package-history-api';
import { CircleCheck, Package, PackageOpen, Power, Send, Tag, Zap } from 'lucide-react';
import { memo, type ReactNode } from 'react';
import { dateIn, longDate } from '../calendar/calendar-rules.ts';
import { CommandPackages } from '../commands/command-packages.tsx';
import { ACTION_WORDS, CommandStatusBadge } from '../commands/command-words.tsx';
import { ownZone } from '../policies/window-times.tsx';
import { actorText } from '../ui/actor.ts';
import { Button } from '../ui/button.tsx';
import { EmptyState, ErrorPanel, Skeleton } from '../ui/states.tsx';
import { utcText } from '../ui/utc-text.ts';
import { CauseLine, ChangeLine } from './change-words.tsx';
import { OlderEntries } from './older-entries.tsx';
import { byDay, ENTRY_KINDS, type Entry, type EntryKind, isSameEntry, timelineOf } from './timeline-rules.ts';
import { useSources } from './use-sources.ts';

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
  const { failed, sources, isReported, isStale, loadOlder } = useSources({ id, since, q });
  if (failed) return <ErrorPanel error={failed.error} retry={() => void failed.refetch()} />;
  if (sources === null) return <Skeleton as="rows" />;
  const { entries, backTo, cut } = timelineOf(sources, kind);
  if (entries.length === 0 && backTo === null) return <Nothing isReported={isReported} clear={clear} />;
  const zone = ownZone();
  const time = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit' });
  const clockOf = (at: string) => time.format(Date.parse(at));
  const momentOf = (at: string) => `${longDate(dateIn(Date.parse(at), zone))}, ${clockOf(at)}`;
  return (
    <>
      {byDay(entries, zone).map(([day, some]) => (
        <section key={day} aria-label={longDate(day)} className="border-b border-line last:border-b-0">
          <h2 className="bg-sunken px-4 py-1.5 font-semibold">{longDate(day)}</h2>
          <ol className="divide-y divide-line">
            {some.map((entry) => (
              <EntryRow key={entry.id} entry={entry} clock={clockOf(entry.at)} />
            ))}
          </ol>
        </section>
      ))}
      <OlderEntries
        key={`${id} ${since} ${kind ?? ''} ${q ?? ''}`}
        backTo={backTo === null ? null : momentOf(backTo)}
        {...{ isStale, count: entries.length, load: () => loadOlder(cut) }}
      />
    </>
  );
}

/** Entries that did not change are not drawn again: there may be thousands. */
const EntryRow = memo(
  function EntryRow({ entry, clock }: { entry: Entry; clock: string }) {
    return (
      <li className="grid grid-cols-[auto_auto_minmax(0,1fr)] items-start gap-x-3 px-4 py-2">
        <time dateTime={entry.at} title={utcText(entry.at)} className="text-muted tabular-nums">
          {clock}
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
  },
  (before, after) => before.clock === after.clock && isSameEntry(before.entry, after.entry),
);

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
          <bdi>{actorText(by)}</bdi> asked the host to{' '}
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
          <summary className="min-h-[24px] w-fit rounded px-1 text-muted hover:text-text">
            {rest.length.toLocaleString('en')} more packages
            {entry.isCut && ', and some that are not loaded yet'}
          </summary>
          <ul className="mt-1 space-y-1">{rest.map(line)}</ul>
        </details>
      )}
      {entry.isCut && rest.length === 0 && <p className="text-muted">More packages are not loaded yet.</p>}
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
