import { CheckInRequest } from '@tidegate/protocol/agent-api';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import * as fc from 'fast-check';
import { Check } from 'typebox/value';
import { expect, test } from 'vitest';
import { staleSections } from './answer.ts';
import { isIdleText } from './idle-text.ts';

const DIGEST = 'a'.repeat(64);
const stored = {
  agentVersion: '1.0.0',
  bootId: '8d1fa7f2-9d0e-4f8e-b1f5-8bb2cf3d4b6a',
  keySetVersion: 3,
  pollingIntervalSeconds: null,
  hasOpenCommands: false,
  digests: JSON.stringify({ apt: DIGEST }),
};
const facts = {
  agent_version: stored.agentVersion,
  boot_id: stored.bootId,
  uptime_seconds: 86_400,
  load: [0.1, 0.25, 3],
  received: [],
  key_set_version: 3,
  inventory_digest: { apt: DIGEST },
};
const { load: _, ...withoutLoad } = facts;

test.each([
  ['as the agent writes it', JSON.stringify(facts), true],
  ['without a load', JSON.stringify(withoutLoad), true],
  ['with an empty load', JSON.stringify({ ...facts, load: [] }), true],
  ['with a newer agent', JSON.stringify({ ...facts, agent_version: '1.0.1' }), false],
  ['after a reboot', JSON.stringify({ ...facts, boot_id: 'other' }), false],
  ['with another key set', JSON.stringify({ ...facts, key_set_version: 4 }), false],
  ['with another inventory', JSON.stringify({ ...facts, inventory_digest: {} }), false],
  ['with a command received', JSON.stringify({ ...facts, received: [stored.bootId] }), false],
  ['with four loads', JSON.stringify({ ...facts, load: [1, 2, 3, 4] }), false],
  ['with a load past the schema', JSON.stringify({ ...facts, load: [1_000_001] }), false],
  ['with a negative uptime', JSON.stringify({ ...facts, uptime_seconds: -1 }), false],
  ['with half a second of uptime', JSON.stringify({ ...facts, uptime_seconds: 0.5 }), false],
  ['with white space', JSON.stringify(facts, null, 1), false],
  ['with a key twice', JSON.stringify(facts).replace('"received":[]', '"received":[],"received":[]'), false],
  ['with an unknown key', JSON.stringify({ ...facts, extra: 1 }), false],
  ['cut off', JSON.stringify(facts).slice(0, -1), false],
  ['empty', '', false],
])('a body %s is told from the idle one', (_title, body, idle) => {
  expect(isIdleText(body, stored)).toBe(idle);
});

test('an agent that was never heard of has no idle text', () => {
  const body = JSON.stringify({ ...facts, boot_id: 'null' });
  expect(isIdleText(body, { ...stored, bootId: null })).toBe(false);
});

test('what is taken for idle is what parser and schema accept, with nothing in it but what is stored', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '"',
      '\\',
      ',',
      ':',
      '{',
      '}',
      '[',
      ']',
      '0',
      '1e9',
      '-1',
      '.5',
      ' ',
      'null',
      '"load":[1]',
    ),
    fc.string({ maxLength: 6 }),
  );
  const change = fc.record({ at: fc.nat({ max: 400 }), cut: fc.nat({ max: 12 }), piece });
  const bootId = fc.oneof(fc.constant(stored.bootId), fc.string({ minLength: 1, maxLength: 64 }));
  let taken = 0;
  fc.assert(
    fc.property(fc.array(change, { maxLength: 2 }), bootId, (changes, id) => {
      const row = { ...stored, bootId: id };
      let body = JSON.stringify({ ...facts, boot_id: id });
      for (const { at, cut, piece: text } of changes) body = body.slice(0, at) + text + body.slice(at + cut);
      if (!isIdleText(body, row)) return;
      taken++;
      const json = parseStrictJson(body);
      const value = json.ok ? json.value : null;
      if (!Check(CheckInRequest, value)) throw new Error(`taken, but refused by the route: ${body}`);
      expect([value.agent_version, value.boot_id, value.key_set_version, value.received]).toEqual([
        row.agentVersion,
        row.bootId,
        row.keySetVersion,
        [],
      ]);
      expect(staleSections(value.inventory_digest, row.digests)).toEqual([]);
    }),
    { numRuns: 5_000 },
  );
  expect(taken).toBeGreaterThan(100);
});
