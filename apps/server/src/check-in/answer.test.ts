import { CheckInAnswer } from '@tidegate/protocol/agent-api';
import { Value } from 'typebox/value';
import { expect, test } from 'vitest';
import { answerText, createSpread, staleSections } from './answer.ts';

const envelope = { payloadType: 't', payload: 'cGF5', signatures: [{ keyid: 'k', sig: 'c2ln' }] };

test('the concatenated answer is valid under the schema', () => {
  const text = answerText({
    nowMs: 1_800_000_000_000,
    state: JSON.stringify(envelope),
    commands: [JSON.stringify(envelope), JSON.stringify(envelope)],
    report: ['apt', 'npm'],
    nextCheckInSeconds: 61.3,
  });
  const answer: unknown = JSON.parse(text);
  expect(Value.Check(CheckInAnswer, answer)).toBe(true);
  expect(answer).toEqual({
    server_time: '2027-01-15T08:00:00.000Z',
    state: envelope,
    commands: [envelope, envelope],
    report: ['apt', 'npm'],
    next_check_in_seconds: 61.3,
  });
});

test('a section is stale if its digest differs from the stored one; sections that the host lacks are not requested', () => {
  expect(staleSections({ apt: 'a', npm: 'b', pypi: 'c' }, '{"npm":"x","apt":"a","dnf":"d"}')).toEqual([
    'npm',
    'pypi',
  ]);
  expect(staleSections({}, '{"apt":"a"}')).toEqual([]);
});

test('check-ins are spread by a tenth of the interval in both directions, and never closer than a second', () => {
  const low = createSpread((size) => Buffer.alloc(size));
  const high = createSpread((size) => Buffer.alloc(size, 0xff));
  expect([low(60), high(60), low(1)]).toEqual([54, 66, 1]);
  const spread = createSpread((size) => Buffer.from(Array.from({ length: size }, (_, i) => (i * 37) % 256)));
  const drawn = Array.from({ length: 5_000 }, () => spread(60));
  expect(drawn.every((seconds) => seconds >= 54 && seconds <= 66)).toBe(true);
  expect(new Set(drawn).size).toBeGreaterThan(50);
});
