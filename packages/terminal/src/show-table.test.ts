import { expect, test } from 'vitest';
import { plainText } from './plain-text.ts';
import { showRecord } from './show-record.ts';
import { rowsOf, showTable } from './show-table.ts';

const ID = '01900000-0000-7000-8000-000000000001';
const COLUMNS = {
  ID: ({ id }: { id: string; name: string; hosts: number | null }) => id,
  NAME: ({ name }: { name: string }) => name,
  HOSTS: ({ hosts }: { hosts: number | null }) => hosts,
};

test('columns are as wide as their widest cell; nothing is -', () => {
  const items = [
    { id: 'a', name: 'long name', hosts: null },
    { id: 'b', name: '', hosts: 12 },
  ];
  expect(showTable(rowsOf(COLUMNS, items))).toBe(`ID  NAME       HOSTS
a   long name  -
b              12`);
});

const LONG = [{ id: ID, name: 'a name that is much longer than a terminal is wide '.repeat(2), hosts: 1 }];

test.each([
  [80, /^0\S{35} {2}a name that is much longer than a … {2}1$/],
  [62, /^0\S{35} {2}a name that is m… {2}1$/],
])('at %i characters the widest columns are cut, and ids stay whole', (width, row) => {
  const lines = showTable(rowsOf(COLUMNS, LONG), { width }).split('\n');
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
  expect(lines[1]).toMatch(row);
});

test.each([60, 45, 36])(
  'at %i characters each id has a line of its own, and what is cut says so',
  (width) => {
    const lines = showTable(rowsOf(COLUMNS, LONG), { width }).split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
    expect([lines.length, lines[0], lines[2]]).toEqual([4, 'ID', ID]);
    expect(lines[1]).toMatch(/^ {2}NAME +HOSTS$/);
    expect(lines[3]).toMatch(/^ {2}a name that is .*… +1$/);
  },
);

test('without ids the first column names the item', () => {
  const rows = [
    ['NAME', 'FROM', 'UNTIL'],
    ['a name that is twenty', '2026-11-28 14:57Z', '2026-11-28 15:57Z'],
  ];
  expect(showTable(rows, { width: 40 })).toBe(`NAME
  FROM               UNTIL
a name that is twenty
  2026-11-28 14:57Z  2026-11-28 15:57Z`);
});

test('columns have at least eight characters, however narrow the terminal', () => {
  expect(
    showTable(
      [
        ['NAME', 'OTHER'],
        ['12345', '12345678901'],
      ],
      { width: 3 },
    ),
  ).toBe('NA…\n  OTHER\n12…\n  1234567…');
});

test.each([
  ['a\u001b[31mb', 'a\\u{1b}[31mb'],
  ['a\u202eb', 'a\\u{202e}b'],
  ['a\nb', 'a\\u{a}b'],
  ['\ud800', '\\u{d800}'],
  ['größe 日本', 'größe 日本'],
])('%j is shown as %s', (text, shown) => {
  expect(plainText(text)).toBe(shown);
  expect(showTable([['NAME'], [text]])).toBe(`NAME\n${shown}`);
});

test('a record is one line for each member, with lists and deeper values below', () => {
  const record = {
    ...{ host_name: 'web', online: true, group: null, tags: ['a', 'b'], empty: [] },
    ...{
      os: { id: 'debian' },
      output: 'one\n\ttwo\u001b\n',
      findings: [
        { id: 'x', count: 2 },
        { id: 'y', count: 3 },
      ],
    },
  };
  expect(showRecord(record)).toBe(`host name: web
online: yes
group: -
tags: a, b
empty: none
os:
  id: debian
output:
  one
  \ttwo\\u{1b}
findings:
  - id: x
    count: 2
  - id: y
    count: 3`);
});
