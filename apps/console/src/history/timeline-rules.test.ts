import type { CommandItem } from '@tidegate/protocol/commands-api';
import type { PackageChange } from '@tidegate/protocol/package-history-api';
import { describe, expect, test } from 'vitest';
import type { EventItem } from '../events/event-item.ts';
import { byDay, daysBack, endOfPastDay, isSameEntry, joined, timelineOf } from './timeline-rules.ts';

const at = (hour: number) => `2026-11-21T${String(hour).padStart(2, '0')}:00:00.000Z`;

function changeOf(hour: number, fields: Partial<PackageChange> = {}): PackageChange {
  return {
    ...{ position: hour, ecosystem: 'apt', name: `p${hour}`, arch: null, kind: 'changed' },
    ...{ from_version: '1', to_version: '2', reported_at: at(hour), cause: 'outside', command: null },
    ...fields,
  };
}

function eventOf(hour: number, type: string): EventItem {
  return {
    ...{ id: `${type} ${hour}`, kind: 'system', type, severity: 'info', component: 'x', agent_id: null },
    ...{ hostname: null, actor: null, content: {}, created_at: at(hour), previous_hash: null, hash: '' },
  };
}

function commandOf(hour: number, action: CommandItem['action']): CommandItem {
  return {
    ...{
      id: `${action} ${hour}`,
      agent_id: '',
      hostname: '',
      action,
      params: {},
      update_ids: [],
      packages: { total: 0, first: [] },
    },
    ...{ status: 'success', seq: 1, created_by: 'ada', created_at: at(hour), not_before: '', expires_at: '' },
    ...{ sent_at: null, received_at: null, started_at: null, installing_at: null, finished_at: null },
    reason: null,
    ...{ exit_code: null, output_tail: null, way_back: null, restarts: null, probes: null, hooks: null },
  };
}

const page = <T>(items: readonly T[], isMore = false) => ({ items, next_cursor: isMore ? 'next' : null });
const command = { id: 'c', update_id: null, approved_by: 'ada', policy_id: null };

describe('the timeline of a host', () => {
  test('merges what happened by time, and names its kind', () => {
    const { entries, backTo } = timelineOf(
      {
        changes: page([changeOf(9), changeOf(5, { cause: 'tidegate', command })]),
        events: page([
          eventOf(8, 'HOST_TAGS_CHANGED'),
          eventOf(4, 'update_approved'),
          eventOf(3, 'reboot_ended'),
          eventOf(2, 'agent_offline'),
        ]),
        commands: page([commandOf(7, 'reboot'), commandOf(6, 'scan')]),
      },
      undefined,
    );
    expect(entries.map(({ kind }) => kind)).toEqual([
      ...['outside', 'labels', 'reboots', 'commands', 'packages', 'approvals', 'reboots', 'others'],
    ]);
    expect(backTo).toBeNull();
  });

  test('what one report brought by one cause is one entry', () => {
    const by = { cause: 'tidegate', command } as const;
    const { entries } = timelineOf(
      {
        changes: page([changeOf(9, by), changeOf(9, { ...by, name: 'b' }), changeOf(9, { name: 'c' })]),
        ...{ events: page([]), commands: page([]) },
      },
      undefined,
    );
    expect(entries.map((entry) => ('changes' in entry ? entry.changes.length : 0))).toEqual([2, 1]);
  });

  test('an entry says that its report may have brought more than was loaded', () => {
    const cutOf = (isMore: boolean) =>
      timelineOf(
        {
          changes: page([changeOf(9), changeOf(5), changeOf(5, { cause: 'unknown' })], isMore),
          ...{ events: page([]), commands: page([]) },
        },
        undefined,
      ).entries.map((entry) => 'changes' in entry && entry.isCut);
    expect(cutOf(true)).toEqual([false, true, true]);
    expect(cutOf(false)).toEqual([false, false, false]);
  });

  test('ends where a list is cut, unless the kind leaves that list out', () => {
    const sources = {
      changes: page([changeOf(9), changeOf(3)]),
      events: page([eventOf(8, 'update_approved'), eventOf(6, 'update_approved')], true),
      commands: page([commandOf(7, 'scan'), commandOf(5, 'scan')]),
    };
    const all = timelineOf(sources, undefined);
    expect(all.entries.map((entry) => entry.at)).toEqual([9, 8, 7, 6].map(at));
    expect([all.backTo, all.cut]).toEqual([at(6), ['events']]);
    const both = timelineOf({ ...sources, changes: page([changeOf(9), changeOf(6)], true) }, undefined);
    expect([both.backTo, both.cut]).toEqual([at(6), ['changes', 'events']]);
    const commands = timelineOf(sources, 'commands');
    expect(commands.entries.map((entry) => entry.at)).toEqual([7, 5].map(at));
    expect([commands.backTo, commands.cut]).toEqual([null, []]);
  });

  describe('what was loaded before the newest page', () => {
    const list = (numbers: readonly number[], next_cursor: string | null = null) => ({
      items: numbers.map((n) => ({ n })),
      next_cursor,
    });
    const numbers = (...lists: Parameters<typeof join>) => {
      const { items, next_cursor } = join(...lists);
      return [items.map(({ n }) => n), next_cursor];
    };
    const join = (newest: ReturnType<typeof list>, loaded: ReturnType<typeof list> | null) =>
      joined(newest, loaded, ({ n }) => n);

    test('follows it, in order and once, also when more has come meanwhile', () => {
      const loaded = list([9, 8, 7, 6, 5, 4], 'older');
      expect(numbers(list([9, 8, 7], 'next'), null)).toEqual([[9, 8, 7], 'next']);
      expect(numbers(list([9, 8, 7], 'next'), loaded)).toEqual([[9, 8, 7, 6, 5, 4], 'older']);
      expect(numbers(list([11, 10, 9], 'next'), loaded)).toEqual([[11, 10, 9, 8, 7, 6, 5, 4], 'older']);
    });

    test('is left out where something is missing between, and where nothing is', () => {
      expect(numbers(list([19, 18, 17], 'next'), list([9, 8, 7], 'older'))).toEqual([[19, 18, 17], 'next']);
      expect(numbers(list([9, 8]), list([9, 8, 7], 'older'))).toEqual([[9, 8], null]);
      expect(numbers(list([]), list([9]))).toEqual([[], null]);
    });

    test('of a row that the newest page has no more, or otherwise, nothing old is shown', () => {
      expect(numbers(list([9, 7], 'next'), list([9, 8, 7, 6]))).toEqual([[9, 7, 6], null]);
    });
  });

  test('an entry is drawn anew only if something of it changed', () => {
    const [change, event, command_] = [changeOf(9), eventOf(8, 'update_approved'), commandOf(7, 'scan')];
    const entriesOf = (changes: readonly PackageChange[]) =>
      timelineOf({ changes: page(changes), events: page([event]), commands: page([command_]) }, undefined)
        .entries;
    const [before, after] = [entriesOf([change]), entriesOf([change])];
    expect(before.map((entry, i) => isSameEntry(entry, after[i] ?? entry))).toEqual([true, true, true]);
    expect(before.map((entry, i) => entry === after[i])).toEqual([false, false, false]);
    const more = entriesOf([change, { ...change, position: 10 }]);
    const changed = entriesOf([{ ...change }]);
    const kinds = [before[0], more[0], changed[0], before[1], before[2]].flatMap((one) => one ?? []);
    for (const [i, a] of kinds.entries())
      for (const [j, b] of kinds.entries()) expect([i, j, isSameEntry(a, b)]).toEqual([i, j, i === j]);
    const newer = { ...event };
    const [, redrawn] = timelineOf(
      { changes: page([change]), events: page([newer]), commands: page([command_]) },
      undefined,
    ).entries;
    expect(redrawn && before[1] && isSameEntry(before[1], redrawn)).toBe(false);
  });

  test('days are those of the reader', () => {
    const entries = timelineOf(
      { changes: page([changeOf(23), changeOf(1)]), events: page([]), commands: page([]) },
      undefined,
    ).entries;
    const days = (zone: string) => byDay(entries, zone).map(([day, some]) => [day, some.length]);
    expect(days('UTC')).toEqual([['2026-11-21', 2]]);
    expect(days('Asia/Tokyo')).toEqual([
      ['2026-11-22', 1],
      ['2026-11-21', 1],
    ]);
  });
});

test('a day that is over ends a millisecond before the next; today has no end yet', () => {
  const end = endOfPastDay('2026-11-20', '2026-11-21') ?? '';
  expect(new Date(Date.parse(end) + 1).getHours()).toBe(0);
  expect(end).toBe(new Date(new Date(2026, 10, 21).getTime() - 1).toISOString());
  expect(endOfPastDay('2026-11-21', '2026-11-21')).toBeUndefined();
  expect(daysBack('2026-11-03', 7)).toBe(new Date(2026, 9, 27).toISOString());
});
