import { expect, test } from 'vitest';
import { jsonPieces } from './answer-file.ts';

test('a piece of a JSON file is bounded by its length, however long its items are', async () => {
  const long = Array.from({ length: 50 }, (_, n) => ({ n, text: 'x'.repeat(100_000) }));
  const short = Array.from({ length: 5_000 }, (_, n) => n);
  const lengths: number[] = [];
  let text = '';
  for await (const piece of jsonPieces({ v: 1 }, { long, short, none: [] })) {
    lengths.push(piece.length);
    text += piece;
  }
  expect(Math.max(...lengths)).toBeLessThan(64 * 1024 + 101_000);
  expect(JSON.parse(text)).toEqual({ v: 1, long, short, none: [] });
});
