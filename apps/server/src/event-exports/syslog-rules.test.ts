import fc from 'fast-check';
import parse from 'nsyslog-parser';
import { expect, test } from 'vitest';
import type { EventRow } from '../events/store.ts';
import { framed, MESSAGE_MAX_BYTES, syslogMessage } from './syslog-rules.ts';

const EVENT: EventRow = {
  position: 7,
  id: '01900000-0000-7000-8000-000000000001',
  kind: 'security',
  type: 'ROW_SEAL_BROKEN',
  severity: 'critical',
  component: 'security',
  agent_id: null,
  actor: 'server',
  content: '{"table":"operators"}',
  created_at: Date.UTC(2026, 10, 28, 15),
  previous_hash: null,
  hash: 'ab'.repeat(32),
};
const SOURCE = { hostname: 'server.example', version: '1.2.3' };

test('a message has the form of RFC 5424, as a parser that is not ours reads it', () => {
  const message = syslogMessage(EVENT, SOURCE);
  expect(message).toBe(
    `<106>1 2026-11-28T15:00:00.000Z server.example tidegate - ROW_SEAL_BROKEN [event@32473 id="${EVENT.id}" position="7" type="ROW_SEAL_BROKEN" kind="security" severity="critical" component="security" actor="server" hash="${EVENT.hash}"][origin software="tidegate" swVersion="1.2.3"] {"table":"operators"}`,
  );
  expect(parse(message)).toMatchObject({
    type: 'RFC5424',
    pri: '<106>',
    facilityval: 13,
    level: 'crit',
    host: 'server.example',
    appName: 'tidegate',
    messageid: 'ROW_SEAL_BROKEN',
    message: '{"table":"operators"}',
  });
});

test.each([
  ['info', '<110>'],
  ['warning', '<108>'],
  ['error', '<107>'],
  ['critical', '<106>'],
  ['of a later version', '<109>'],
])('severity %s has the priority %s', (severity, pri) => {
  expect(syslogMessage({ ...EVENT, severity }, SOURCE).startsWith(`${pri}1 `)).toBe(true);
});

test('text of others cannot end an element, a value or a line', () => {
  const actor = 'a"] [event@32473 actor="root"]\n<0>1 - - - - - - x\\';
  const message = syslogMessage({ ...EVENT, actor, content: '{"é":"\u2028\u{1f600}"}' }, SOURCE);
  expect(message).toContain('actor="a\\"\\] [event@32473 actor=\\"root\\"\\] <0>1 - - - - - - x\\\\"');
  expect(message).toMatch(/^[\x20-\x7e]+$/);
  const body = message.slice(message.lastIndexOf('] {') + 2);
  expect(JSON.parse(body)).toEqual({ é: '\u2028\u{1f600}' });
});

test('a message never exceeds its bound, says when it was cut, and is framed by its bytes', () => {
  const text = fc.string({ unit: 'binary', maxLength: 12_000 });
  fc.assert(
    fc.property(text, text, text, (actor, type, content) => {
      const message = syslogMessage({ ...EVENT, actor, type, content: JSON.stringify({ content }) }, SOURCE);
      const bytes = Buffer.byteLength(message);
      expect(bytes).toBeLessThanOrEqual(MESSAGE_MAX_BYTES);
      expect(message).not.toMatch(/\p{Cc}/u);
      expect(message.includes(' cut="true"]')).toBe(bytes === MESSAGE_MAX_BYTES);
      expect(framed(message)).toBe(`${bytes} ${message}`);
    }),
    { numRuns: 200 },
  );
});
