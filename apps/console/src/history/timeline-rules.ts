import type { CommandItem } from '@tidegate/protocol/commands-api';
import type { PackageChange } from '@tidegate/protocol/package-history-api';
import { datesIn } from '../calendar/calendar-rules.ts';
import type { EventItem } from '../events/event-item.ts';

export const ENTRY_KINDS = {
  packages: 'packages by Tidegate',
  outside: 'packages outside Tidegate',
  approvals: 'approvals',
  commands: 'commands',
  reboots: 'reboots',
  labels: 'tags and groups',
  others: 'other events',
} as const;
export type EntryKind = keyof typeof ENTRY_KINDS;

export type Entry = { readonly id: string; readonly at: string; readonly kind: EntryKind } & (
  | {
      readonly changes: readonly PackageChange[];
      /** The same report may have brought more, which was not loaded. */
      readonly isCut: boolean;
    }
  | { readonly event: EventItem }
  | { readonly command: CommandItem }
);

/** A list, the newest first, with where it goes on. */
export interface Listed<T> {
  readonly items: readonly T[];
  readonly next_cursor: string | null;
}

export interface Sources {
  readonly changes: Listed<PackageChange>;
  readonly events: Listed<EventItem>;
  readonly commands: Listed<CommandItem>;
}

const APPROVALS: ReadonlySet<string> = new Set([
  ...['update_approved', 'approval_countersigned', 'approval_blocked', 'supply_chain_override'],
  'rollback_requested',
]);
const LABELS: ReadonlySet<string> = new Set(['HOST_GROUP_CHANGED', 'HOST_TAGS_CHANGED']);

interface TimelineOf {
  readonly entries: readonly Entry[];
  readonly backTo: string | null;
  /** The lists that end there. */
  readonly cut: readonly (keyof Sources)[];
}

/**
 * What happened on a host, the newest first. Where a list has more than was loaded, the timeline ends at `backTo`, the end of
 * what was: before it something would be missing.
 */
export function timelineOf({ changes, events, commands }: Sources, kind: EntryKind | undefined): TimelineOf {
  const lists = [
    {
      name: 'changes' as const,
      kinds: ['packages', 'outside'],
      end: endOf(changes, ({ reported_at: at }) => at),
      entries: reportsOf(changes),
    },
    {
      name: 'events' as const,
      kinds: ['approvals', 'reboots', 'labels', 'others'],
      end: endOf(events, ({ created_at: at }) => at),
      entries: events.items.map(
        (event): Entry => ({ id: event.id, at: event.created_at, kind: kindOfEvent(event), event }),
      ),
    },
    {
      name: 'commands' as const,
      kinds: ['commands', 'reboots'],
      end: endOf(commands, ({ created_at: at }) => at),
      entries: commands.items.map((command): Entry => {
        const kindOf = command.action === 'reboot' ? 'reboots' : 'commands';
        return { id: command.id, at: command.created_at, kind: kindOf, command };
      }),
    },
  ].filter(({ kinds }) => kind === undefined || kinds.includes(kind));
  const backTo = lists.reduce((latest, { end }) => (end > latest ? end : latest), '');
  const entries = lists
    .flatMap((list) => list.entries)
    .filter((entry) => (kind === undefined || entry.kind === kind) && entry.at >= backTo)
    .toSorted((a, b) => b.at.localeCompare(a.at));
  if (backTo === '') return { entries, backTo: null, cut: [] };
  return { entries, backTo, cut: lists.filter(({ end }) => end === backTo).map(({ name }) => name) };
}

/**
 * A list as its newest page is now, with what was loaded before. What is only in `loaded` follows the end of the page; where that
 * end is not in it, something is missing between the two, and the page stands alone.
 */
export function joined<T>(
  newest: Listed<T>,
  loaded: Listed<T> | null,
  idOf: (item: T) => string | number,
): Listed<T> {
  const last = newest.items.at(-1);
  if (loaded === null || newest.next_cursor === null || last === undefined) return newest;
  const end = loaded.items.findIndex((item) => idOf(item) === idOf(last));
  if (end < 0) return newest;
  return { items: [...newest.items, ...loaded.items.slice(end + 1)], next_cursor: loaded.next_cursor };
}

/** Entries are made anew of what the server said, which stays the same object while it says the same. */
export function isSameEntry(a: Entry, b: Entry): boolean {
  if (a.id !== b.id || a.kind !== b.kind) return false;
  if ('changes' in a) {
    return (
      'changes' in b &&
      a.isCut === b.isCut &&
      a.changes.length === b.changes.length &&
      a.changes.every((change, i) => change === b.changes[i])
    );
  }
  if ('event' in a) return 'event' in b && a.event === b.event;
  return 'command' in b && a.command === b.command;
}

function endOf<T>({ items, next_cursor }: Listed<T>, timeOf: (item: T) => string): string {
  const last = items.at(-1);
  return next_cursor !== null && last ? timeOf(last) : '';
}

/** Changes of one report and one cause are one entry. */
function reportsOf(list: Listed<PackageChange>): Entry[] {
  const end = endOf(list, ({ reported_at: at }) => at);
  const together = Map.groupBy(list.items, ({ reported_at: at, cause, command }) =>
    [at, cause, command?.id ?? ''].join(' '),
  );
  return [...together].flatMap(([id, some]) => {
    const [first] = some;
    if (!first) return [];
    const kind = first.cause === 'tidegate' ? 'packages' : 'outside';
    const { reported_at: at } = first;
    return [{ id, at, kind, changes: some, isCut: at === end } as const];
  });
}

function kindOfEvent({ type }: EventItem): EntryKind {
  if (APPROVALS.has(type)) return 'approvals';
  if (LABELS.has(type)) return 'labels';
  return type.startsWith('reboot') ? 'reboots' : 'others';
}

/** The entries of each day of the reader, the newest first. */
export function byDay(
  entries: readonly Entry[],
  zone: string,
): readonly (readonly [string, readonly Entry[]])[] {
  const dateOf = datesIn(zone);
  return [...Map.groupBy(entries, ({ at }) => dateOf(Date.parse(at)))];
}

/** The first moment of the reader's day that many days before today. */
export function daysBack(today: string, days: number): string {
  const [year = 0, month = 1, day = 1] = today.split('-').map(Number);
  return new Date(year, month - 1, day - days).toISOString();
}

/** The last moment of a day of the reader; undefined for today, which is not over, and for what is no past day. */
export function endOfPastDay(date: string, today: string): string | undefined {
  if (date >= today) return undefined;
  const [year = 0, month = 1, day = 1] = date.split('-').map(Number);
  return new Date(new Date(year, month - 1, day + 1).getTime() - 1).toISOString();
}
