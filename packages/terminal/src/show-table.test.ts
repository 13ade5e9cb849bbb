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

test.each([80, 60, 55])('at %i characters the widest columns are cut, and ids stay whole', (width) => {
  const items = [{ id: ID, name: 'a name that is much longer than a terminal is wide '.repeat(2), hosts: 1 }];
  const lines = showTable(rowsOf(COLUMNS, items), { width }).split('\n');
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
  expect(lines[1]).toMatch(new RegExp(`^${ID}  a name.*…`));
});

test('a table that cannot be narrower is left as it is', () => {
  expect(showTable([['NAME'], ['12345678901']], { width: 3 })).toBe('NAME\n1234567…');
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
