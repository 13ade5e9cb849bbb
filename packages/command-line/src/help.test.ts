import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { commandHelp, programHelp } from './help.ts';
import { manPage } from './man-page.ts';
import { SAMPLE } from './sample-program.ts';

const [rows] = SAMPLE.commands;

test('help names every call, and each option with its value and meaning', () => {
  expect(
    commandHelp('sample-tool', rows ?? expect.unreachable()),
  ).toBe(`Usage: sample-tool rows add NAME red|green --from FILE ... [--kind small|large]
       sample-tool rows show ID [--into DIR] [--kind new|old]
       sample-tool rows root make FILE ... [--all]

Starts with a word.
'Quoted' and .dotted and back\\slash

Options:
  -f, --from FILE     where from. And more
  --kind small|large  how large
  --into DIR          where to
  --all               all of them`);
  expect(programHelp(SAMPLE)).toContain(
    "  rows  rows: add, show; a row's life\n  mark  mark a row\n\nOptions:\n  -h, --help  show this",
  );
});

test('a long meaning and a long call are wrapped, and no line is longer than 110', () => {
  const about = 'word '.repeat(60).trim();
  const options = {
    'an-option-with-a-long-name': { type: 'string', takes: 'VALUE|OTHER', completes: null, about },
  } as const;
  const calls = [{ takes: Array.from({ length: 8 }, () => 'an-option-with-a-long-name') }];
  const help = commandHelp('sample-tool', { name: 'long', summary: '', calls, options, about: '' });
  expect(Math.max(...help.split('\n').map((line) => line.length))).toBeLessThanOrEqual(117);
  expect(help.split('\n').length).toBeGreaterThan(6);
});

test('a call that names an option which is not declared is a mistake', () => {
  const wrong = { name: 'x', summary: '', calls: [{ takes: ['none'] }], options: {}, about: '' };
  expect(() => commandHelp('sample-tool', wrong)).toThrow('does not declare --none');
});

test('a man page shows roff what it would take for requests', () => {
  const page = manPage(SAMPLE, { version: '1.0.0', date: '2026-11-21' });
  const shown = spawnSync('mandoc', ['-Tascii'], { input: page, encoding: 'utf8' });
  const plain = shown.stdout.replace(/.[\b]/g, '').replace(/\s+/g, ' ');
  for (const part of [
    "'Quoted' and .dotted and back\\slash",
    '--kind small|large How large.',
    'term its meaning that goes on',
  ]) {
    expect(plain).toContain(part);
  }
});
