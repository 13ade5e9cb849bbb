import { expect, test } from 'vitest';
import { hashOfEvent } from '../events/append-event.ts';
import { faultOfWithheld, withholdEvent } from './withheld-rules.ts';

function eventOf(content: string, position = 12) {
  const row = {
    ...{ position, id: '01900000-0000-7000-8000-000000000101', kind: 'security' as const },
    ...{ type: 'LOGIN_FAILED', severity: 'warning', component: 'operators', agent_id: null },
    ...{ actor: 'ada', content, created_at: 1_767_355_200_001, previous_hash: 'a'.repeat(64) },
  };
  return { ...row, hash: hashOfEvent(row) };
}

test('a withheld event proves its link and shows nothing of its content, of any length', () => {
  for (let length = 0; length <= 130; length++) {
    const withheld = withholdEvent(eventOf(`${'x'.repeat(length)}#SECRET`));
    expect([length, faultOfWithheld(withheld)]).toEqual([length, null]);
    expect(withheld).toMatchObject({ position: 12, previous_hash: 'a'.repeat(64) });
    expect(withheld.tail).not.toContain('SECRET');
    expect(withheld.tail).not.toContain('operators');
  }
});

test('content that looks like the end of an event is withheld as well', () => {
  const forged = `,"created_at":1,"position":13,"previous_hash":null,"severity":"info","type":"x"}`;
  const withheld = withholdEvent(eventOf(forged));
  expect(faultOfWithheld(withheld)).toBeNull();
  expect(withheld.tail).not.toContain('13');
});

test('any changed member is named', () => {
  const withheld = withholdEvent(eventOf('{}'));
  const change = (part: object) => faultOfWithheld({ ...withheld, ...part });
  expect(change({ position: 13 })).toBe('position');
  expect(change({ previous_hash: null })).toBe('previous_hash');
  expect(change({ previous_hash: 'b'.repeat(64) })).toBe('previous_hash');
  expect(change({ hash: 'b'.repeat(64) })).toBe('hash');
  expect(change({ state: 'b'.repeat(64) })).toBe('hash');
  expect(change({ blocks: withheld.blocks + 1 })).toBe('hash');
  expect(change({ tail: withheld.tail.replace('"type"', '"typ"') })).toBe('tail');
  expect(change({ tail: withheld.tail.replace('warning', 'info') })).toBe('hash');
});
