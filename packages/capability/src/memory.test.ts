import { expect, test } from 'vitest';
import { type Decision, type Found, Memory } from './memory.ts';

const caller = (i: number) => ({ origin: 'local', window: `w${i}`, webview: 'v' });
const found = (): Found => ({ served: new Uint8Array(), decisions: new Map() });

test('a caller is found by all of its three names', () => {
  const memory = new Memory();
  const one = found();
  memory.keepCaller({ origin: 'a', window: 'b', webview: 'c' }, one);
  expect(memory.find({ origin: 'a', window: 'b', webview: 'c' })).toBe(one);
  for (const [origin, window, webview] of [
    ['a', 'b', 'b'],
    ['a', 'c', 'c'],
    ['b', 'b', 'c'],
    ['c', 'b', 'a'],
  ] as const)
    expect(memory.find({ origin, window, webview })).toBeUndefined();
});

test('1,024 callers are kept; the next one begins anew', () => {
  const memory = new Memory();
  for (let i = 0; i < 1_024; i++) memory.keepCaller(caller(i), found());
  expect(memory.find(caller(0))).toBeDefined();
  memory.keepCaller(caller(1_024), found());
  expect(memory.find(caller(0))).toBeUndefined();
  expect(memory.find(caller(1_024))).toBeDefined();
});

test('16,384 decisions are kept; the next one begins anew', () => {
  const memory = new Memory();
  const one = found();
  const decision: Decision = { allowed: false, reason: '' };
  memory.keepCaller(caller(0), one);
  for (let i = 0; i < 16_384; i++) memory.keepDecision(one, `${i}`, decision);
  expect(memory.find(caller(0))).toBe(one);
  memory.keepDecision(one, 'more', decision);
  expect(memory.find(caller(0))).toBeUndefined();
});

test('a caller of more than 2,048 characters is not kept', () => {
  const memory = new Memory();
  memory.keepCaller({ origin: 'o'.repeat(2_046), window: 'w', webview: 'v' }, found());
  memory.keepCaller({ origin: 'o'.repeat(2_047), window: 'w', webview: 'v' }, found());
  expect(memory.find({ origin: 'o'.repeat(2_046), window: 'w', webview: 'v' })).toBeDefined();
  expect(memory.find({ origin: 'o'.repeat(2_047), window: 'w', webview: 'v' })).toBeUndefined();
});
