import { expect, test } from 'vitest';
import { CHECKPOINT_INTERVAL_MS, CHECKPOINT_ROWS, checkpointIsDue } from './checkpoint-rules.ts';

const NOW = 1_800_000_000_000;
const newest = { position: 10, epoch: 1, created_at: NOW };

test.each([
  ['no checkpoint yet', { newest: null }, true],
  ['one row, one moment', {}, false],
  ['one row, almost five minutes', { nowMs: NOW + CHECKPOINT_INTERVAL_MS - 1 }, false],
  ['one row, five minutes', { nowMs: NOW + CHECKPOINT_INTERVAL_MS }, true],
  ['almost a thousand rows', { head: { position: 10 + CHECKPOINT_ROWS - 1 } }, false],
  ['a thousand rows', { head: { position: 10 + CHECKPOINT_ROWS } }, true],
  ['the server was restored', { epoch: 2 }, true],
  ['the clock was set back', { nowMs: NOW - 1 }, true],
])('a checkpoint is due (16.4.2): %s: %s', (_, given, expected) => {
  const facts = { head: { position: 11 }, newest, epoch: 1, nowMs: NOW, ...given };
  expect(checkpointIsDue(facts)).toBe(expected);
});
