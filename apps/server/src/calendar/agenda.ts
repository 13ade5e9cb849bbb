import type { BlackoutTimes } from '@tidegate/protocol/blackouts-api';
import type { WindowAction } from '@tidegate/protocol/policies-api';
import type { Schedule } from '@tidegate/protocol/windows-api';
import { takeTurn } from '../platform/turns.ts';
import { actionsOf, type Windowed } from '../policies/window-actions.ts';
import { type Occurrence, occurrences } from '../windows/schedule-rules.ts';

/** Occurrences of one schedule that an agenda names; more say the same again. */
const OF_ONE_MAX = 1_000;

/** A policy or a blackout, and the time in which it holds. */
interface Lasting {
  readonly id: string;
  readonly name: string;
  /** From when to when it holds, whatever its schedule says: Infinity where it has no end. */
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** One opening of a policy's window, or one blackout. */
export interface AgendaEntry extends Occurrence, Pick<Lasting, 'id' | 'name'> {
  readonly kind: 'window' | 'blackout';
  /** Of its schedule; null: it has none. */
  readonly zone: string | null;
  /** Of a window: what the policy does in it. */
  readonly actions: readonly WindowAction[];
}

export interface AgendaParts {
  readonly policies: readonly (Lasting & Windowed)[];
  readonly blackouts: readonly (Lasting & { readonly times: BlackoutTimes })[];
}

interface Range {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Everything that overlaps the time from `fromMs` to just before `toMs`, in order of the starts. Versions of one policy
 * that share an opening are one entry. Two thousand windows take most of a second, so others get turns meanwhile.
 */
export async function agendaOf({ policies, blackouts }: AgendaParts, range: Range): Promise<AgendaEntry[]> {
  const found = new Map<string, AgendaEntry>();
  const add = (entry: AgendaEntry) => {
    const key = `${entry.id} ${entry.startMs} ${entry.zone} ${entry.actions.join()}`;
    const known = found.get(key);
    if (!known || known.endMs < entry.endMs) found.set(key, entry);
  };
  for (const blackout of blackouts) {
    await takeTurn();
    for (const entry of blackoutEntries(blackout, range)) add(entry);
  }
  for (const policy of policies) {
    await takeTurn();
    for (const entry of windowEntries(policy, range)) add(entry);
  }
  return [...found.values()].toSorted((a, b) => a.startMs - b.startMs || a.endMs - b.endMs);
}

function windowEntries(policy: AgendaParts['policies'][number], range: Range): AgendaEntry[] {
  return policy.windows.flatMap((schedule) =>
    entriesOf('window', { ...policy, schedule, actions: actionsOf(schedule, policy) }, range),
  );
}

function blackoutEntries(
  { times, ...blackout }: AgendaParts['blackouts'][number],
  range: Range,
): AgendaEntry[] {
  if (times.kind === 'recurring') {
    return entriesOf('blackout', { ...blackout, schedule: times.schedule, actions: [] }, range);
  }
  const [startMs, lastMs] = [Date.parse(times.starts_at), Date.parse(times.ends_at)];
  const { id, name, untilMs } = blackout;
  const endMs = Math.min(lastMs, untilMs);
  const overlaps = startMs < range.toMs && endMs > Math.max(range.fromMs, startMs);
  return overlaps ? [{ kind: 'blackout', id, name, zone: null, actions: [], startMs, endMs }] : [];
}

function entriesOf(
  kind: AgendaEntry['kind'],
  given: Lasting & { schedule: Schedule; actions: readonly WindowAction[] },
  { fromMs, toMs }: Range,
): AgendaEntry[] {
  const { schedule, actions, id, name, sinceMs, untilMs } = given;
  const held = { fromMs: Math.max(fromMs, sinceMs), toMs: Math.min(toMs, untilMs) };
  if (held.fromMs >= held.toMs) return [];
  return occurrences(schedule, { ...held, limit: OF_ONE_MAX }).map(({ startMs, endMs }) => ({
    ...{ kind, id, name, zone: schedule.zone, actions, startMs, endMs: Math.min(endMs, untilMs) },
  }));
}
