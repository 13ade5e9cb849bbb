import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createStreamReader } from './event-stream.ts';

const STREAM =
  'retry: 3000\n: open\n\nid: 7\nevent: output\ndata: {"a":\ndata: 1}\n\rdata: x\r\n\r\ndata\n\n: beat\n\n';

test('messages are read as in the standard', () => {
  const reader = createStreamReader();
  expect(
    reader.take('retry: 50\n: hello\n\nid: 7\nevent: output\ndata: one\ndata:two\n\ndata: three\r\n\r\n'),
  ).toEqual([
    { event: 'output', data: 'one\ntwo', id: '7' },
    { event: 'message', data: 'three', id: '7' },
  ]);
  expect([reader.lastId(), reader.retryMs()]).toEqual(['7', 50]);
});

test('an unfinished message is not returned', () => {
  const reader = createStreamReader();
  expect(reader.take('data: half')).toEqual([]);
  expect(reader.take('\n\n')).toEqual([{ event: 'message', data: 'half', id: '' }]);
});

test('a stream has the same messages however it is split', () => {
  const whole = createStreamReader().take(STREAM);
  fc.assert(
    fc.property(fc.array(fc.nat(STREAM.length), { maxLength: 10 }), (cuts) => {
      const reader = createStreamReader();
      const edges = [0, ...cuts.toSorted((a, b) => a - b), STREAM.length];
      const read = edges.slice(1).flatMap((to, i) => reader.take(STREAM.slice(edges[i], to)));
      expect(read).toEqual(whole);
    }),
  );
});

test('an endless message is refused', () => {
  const reader = createStreamReader();
  expect(() => {
    for (let n = 0; n < 100; n++) reader.take(`data: ${'x'.repeat(20_000)}\n`);
  }).toThrow('too long');
});
