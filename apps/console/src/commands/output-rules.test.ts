import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  addOutput,
  EMPTY_LOG,
  endedText,
  LINE_MAX_CHARS,
  LINES_MAX,
  outputText,
  REPORT_FOLLOWS,
} from './output-rules.ts';

const logOf = (...pieces: string[]) => pieces.reduce(addOutput, EMPTY_LOG);
const textOf = (...pieces: string[]) => outputText(logOf(...pieces));

test.each<[string, string[], string]>([
  ['lines', ['a\nb\n'], 'a\nb'],
  ['a line in two pieces', ['one ', 'line\n'], 'one line'],
  ['colours', ['\x1b[31mred\x1b[0m plain'], 'red plain'],
  ['a colour cut in two', ['\x1b[3', '1mred'], 'red'],
  ['a title for the terminal', ['\x1b]0;evil\x07text'], 'text'],
  ['a link for the terminal', ['\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\'], 'click'],
  ['a progress bar written over', ['10%\r50%\r100%\n'], '100%'],
  ['line ends of Windows', ['a\r\nb\r\n'], 'a\nb'],
  ['a line end of Windows cut in two', ['a\r', '\nb'], 'a\nb'],
  ['bells and backspaces', ['a\x07b\x08c'], 'abc'],
  ['tabs', ['a\tb'], 'a\tb'],
  ['a lone escape at the end', ['a\x1b'], 'a'],
])('%s: %j is %j', (_what, pieces, text) => {
  expect(textOf(...pieces)).toBe(text);
});

test('the oldest lines are dropped, and counted', () => {
  const log = logOf('x\n'.repeat(LINES_MAX + 7));
  expect(log.lines).toHaveLength(LINES_MAX);
  expect(log.dropped).toBe(7);
});

test('an unfinished line has a maximum length', () => {
  const pieces = Array.from({ length: 50 }, () => 'x'.repeat(1_000));
  expect(logOf(...pieces).open.length).toBeLessThanOrEqual(LINE_MAX_CHARS * 2);
  expect(textOf(...pieces).length).toBeLessThanOrEqual(LINE_MAX_CHARS + 1);
});

test('any output, cut anywhere, keeps no control character but tab and line feed', () => {
  const unit = fc.constantFrom(...'a1;[]m\x1b\x07\r\n\t\\\x9b\x00?P');
  fc.assert(
    fc.property(fc.array(fc.string({ unit })), (pieces) => {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
      expect(textOf(...pieces)).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
    }),
  );
});

test.each<[string, string, string | null, string]>([
  ['nothing was reported', 'a\nb', null, 'a\nb'],
  ['all was followed', 'a\nb', '\x1b[1ma\x1b[0m\nb\n', 'a\nb'],
  ['the report has only the end', 'a\nb\nc', 'c\n', 'a\nb\nc'],
  ['nothing was followed', '', 'a\nb\n', 'a\nb'],
  ['the beginning was not followed', 'b', 'a\nb\n', 'a\nb'],
  ['the end was not followed', 'a\nb', 'b\nc\n', `a\nb\n${REPORT_FOLLOWS}\nb\nc`],
  ['there was no output', '', '', ''],
])('a finished command shows the reported end: %s', (_, followed, tail, text) => {
  expect(endedText(followed, tail)).toEqual({ text, isPatched: text.includes(REPORT_FOLLOWS) });
});
