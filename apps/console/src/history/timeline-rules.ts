import type { CommandItem } from '@tidegate/protocol/commands-api';
import type { PackageChange } from '@tidegate/protocol/package-history-api';
import { dateIn } from '../calendar/calendar-rules.ts';
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
  | { readonly changes: readonly PackageChange[] }
  | { readonly event: EventItem }
  | { readonly command: CommandItem }
);

/** A page of a list, the newest first. */
interface Listed<T> {
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

/**
 * What happened on a host, the newest first. Where a list has more than its page, the timeline ends at `backTo`, the end of that
 * page: before it something would be missing.
 */
export function timelineOf(
  { changes, events, commands }: Sources,
  kind: EntryKind | undefined,
): { entries: readonly Entry[]; backTo: string | null } {
  const lists = [
    {
      kinds: ['packages', 'outside'],
      end: endOf(changes, ({ reported_at: at }) => at),
      entries: reportsOf(changes.items),
    },
    {
      kinds: ['approvals', 'reboots', 'labels', 'others'],
      end: endOf(events, ({ created_at: at }) => at),
      entries: events.items.map(
        (event): Entry => ({ id: event.id, at: event.created_at, kind: kindOfEvent(event), event }),
      ),
    },
    {
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
  return { entries, backTo: backTo === '' ? null : backTo };
}

function endOf<T>({ items, next_cursor }: Listed<T>, timeOf: (item: T) => string): string {
  const last = items.at(-1);
  return next_cursor !== null && last ? timeOf(last) : '';
}

/** Changes of one report and one cause are one entry. */
function reportsOf(changes: readonly PackageChange[]): Entry[] {
  const together = Map.groupBy(changes, ({ reported_at: at, cause, command }) =>
    [at, cause, command?.id ?? ''].join(' '),
  );
  return [...together].flatMap(([id, some]) => {
    const [first] = some;
    if (!first) return [];
    const kind = first.cause === 'tidegate' ? 'packages' : 'outside';
    return [{ id, at: first.reported_at, kind, changes: some } as const];
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
  return [...Map.groupBy(entries, ({ at }) => dateIn(Date.parse(at), zone))];
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
