import { expect, test } from 'vitest';
import { type Unread, unreadBy } from './unread-answers.ts';

const after = (looks: number): Unread => ({ takenBytes: 1_000, looks });
const MB = 1_048_576;
type Case = [
  string,
  Unread | null,
  [bytesWritten: number, writableLength: number],
  ReturnType<typeof unreadBy>,
];

test.each<Case>([
  ['nothing is unread', after(9), [1_000, 0], null],
  ['something is unread for the first time', null, [1_400, 400], after(0)],
  ['nothing was taken for half a minute', after(5), [1_400, 400], after(6)],
  ['nothing was taken for longer', after(6), [1_400, 400], 'stalled'],
  ['more was written, and nothing taken', after(6), [1_800, 800], 'stalled'],
  ['a piece was taken, and the next one is as long', after(6), [1_800, 400], { takenBytes: 1_400, looks: 0 }],
  ['a piece of a megabyte has five minutes', after(57), [1_000 + MB, MB], after(58)],
  ['and no longer', after(58), [1_000 + MB, MB], 'stalled'],
])('%s', (_, before, [bytesWritten, writableLength], expected) => {
  expect(unreadBy(before, { bytesWritten, writableLength })).toEqual(expected);
});
