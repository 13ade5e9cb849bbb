import type { Ring } from '@tidegate/protocol/rings';
import { expect, test } from 'vitest';
import { REST, ringOf } from '../testing/rollout-rings.ts';
import { ringsFault } from './rings-fault.ts';

const percent = (name: string, share: number): Ring =>
  ringOf(name, { members: { kind: 'percent', percent: share } });

test.each<[string, Ring[], string | null]>([
  ['a canary and the rest', [ringOf('canary'), REST], null],
  ['shares that leave one for the rest', [percent('a', 9), percent('b', 90), REST], null],
  ['shares that leave none', [percent('a', 10), percent('b', 90), REST], '/rings/1/members/percent'],
  ['two of one name', [ringOf('a'), ringOf('a'), REST], '/rings/1/name'],
  ['no rest', [ringOf('a'), ringOf('b', { gate: null })], '/rings/1/members/kind'],
  [
    'a rest that is not the last',
    [ringOf('a', { members: { kind: 'rest' } }), REST],
    '/rings/0/members/kind',
  ],
  ['a ring without a gate', [ringOf('a', { gate: null }), REST], '/rings/0/gate'],
  ['a gate of the last', [ringOf('a'), { ...REST, gate: ringOf('a').gate }], '/rings/1/gate'],
])('%s', (_, rings, path) => {
  expect(ringsFault(rings)?.path ?? null).toBe(path);
});
