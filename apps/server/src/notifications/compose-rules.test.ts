import { expect, test } from 'vitest';
import { describeEvents } from './compose-rules.ts';
import type { KnownEvent } from './match-rules.ts';

const HOST = { id: 'h', name: 'web-01', group: null };

test.each([
  [
    'agent_offline',
    { hostname: 'web-01', last_seen_at: '2026-11-29T09:55:00Z' },
    /^web-01 has not checked in/,
  ],
  ['AGENT_ERROR', { code: 'E', message: 'The disk is full.' }, /^web-01: /],
])('%s names its host once at the beginning', (type, content, expected) => {
  const event: KnownEvent = {
    ...{ id: 'e', position: 1, type, severity: 'warning', atMs: 0, actor: null, host: HOST, content },
  };
  const { subject } = describeEvents([event], { base: null });
  expect(subject).toMatch(expected);
  expect(subject).not.toMatch(/^web-01: web-01/);
});

test('the subject of several events counts them in plain words, and says the worst first', () => {
  const events = (['warning', 'critical', 'warning'] as const).map(
    (severity, i): KnownEvent => ({
      ...{ id: `e${i}`, position: i, type: 'AGENT_ERROR', severity, atMs: 0, actor: null, host: HOST },
      content: { code: 'E', message: `Disk ${i} is full.` },
    }),
  );
  const told = describeEvents(events, { base: null });
  expect(told.subject).toMatch(/^3 events: 1 critical, 2 warnings\. First: web-01: .*Disk 1 is full/);
  expect(told.summary).toBe('3 events: 1 critical, 2 warnings.');
  expect(told.sections.map(({ title }) => title)).toEqual(['Critical', 'Warnings']);
  const warnings = describeEvents(events.slice(2).concat(events.slice(0, 1)), { base: null });
  expect(warnings.subject).toMatch(/^2 warnings\. First: /);
});
