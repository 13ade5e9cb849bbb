import { expect, test } from 'vitest';
import { rowsOfAlike } from './alike-rules.ts';
import type { EventItem } from './event-item.ts';

const event = (id: string, change: Partial<EventItem> = {}): EventItem => ({
  ...{ id, kind: 'security', type: 'AGENT_ERROR', severity: 'warning', component: 'agent', actor: null },
  ...{ agent_id: 'a', hostname: 'web-01', content: { message: 'the disk is full' } },
  ...{ created_at: '2026-11-21T09:00:00Z', previous_hash: null, hash: id },
  ...change,
});

test('consecutive events that say the same of one host are one row, and none is lost', () => {
  const events = [
    event('1'),
    event('2'),
    event('3'),
    event('4', { content: { message: 'the disk is broken' } }),
    event('5', { agent_id: 'b' }),
    event('6', { agent_id: 'b', severity: 'error' }),
    event('7'),
  ];
  const rows = rowsOfAlike(events);
  expect(rows.map(({ id, alike }) => [id, ...alike.map((one) => one.id)])).toEqual([
    ['1', '2', '3'],
    ['4'],
    ['5'],
    ['6'],
    ['7'],
  ]);
  expect(rows.flatMap(({ alike, ...first }) => [first, ...alike])).toEqual(events);
});
