import { nullable } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { describe, expect, test } from 'vitest';
import { csvEnd, csvHeader, csvList, csvRows, prefersCsv } from './csv-rules.ts';
import { PageQuery, pageOf } from './lists.ts';

const Item = Type.Object({
  name: Type.String(),
  tags: Type.Array(Type.String()),
  update: nullable(Type.Object({ id: Type.Integer(), state: Type.Object({ of: Type.String() }) })),
  scope: Type.Union([
    Type.Object({ kind: Type.Literal('all') }),
    Type.Object({ kind: Type.Literal('group'), group: Type.String() }),
  ]),
  content: Type.Unknown(),
  late: Type.Optional(Type.Boolean()),
});

function columnsOf(item: Parameters<typeof pageOf>[0]) {
  const found = csvList({ response: { 200: pageOf(item) } });
  if (found === null) throw new Error('no list');
  return found.columns;
}

const lineOf = (value: unknown) => csvRows([['a']], [{ a: value }]);

describe('the columns of a list', () => {
  test('are the members of its schema; an object is a column for each member', () => {
    expect(csvHeader(columnsOf(Item))).toBe('name,tags,update.id,update.state.of,scope,content,late\r\n');
  });

  test('have values as text: nothing for null and absent ones, JSON for lists and mixed shapes', () => {
    const [scope, content] = [{ kind: 'group', group: 'lab' }, { n: 1 }];
    const items = [
      { name: 'a', tags: ['x', 'y'], update: { id: 7, state: { of: 's' } }, scope, content, late: false },
      { name: 'b', tags: [], update: null, scope: { kind: 'all' }, content: null },
    ];
    expect(csvRows(columnsOf(Item), items)).toBe(
      [
        'a,"[""x"",""y""]",7,s,"{""kind"":""group"",""group"":""lab""}","{""n"":1}",false',
        'b,[],,,"{""kind"":""all""}",,',
        '',
      ].join('\r\n'),
    );
  });

  test.each([
    ['no schema', {}],
    ['one thing', { response: { 200: Type.Object({ id: Type.String() }) } }],
    ['a list of texts', { response: { 200: Type.Object({ items: Type.Array(Type.String()) }) } }],
  ])('are not there for %s', (_, schema) => {
    expect(csvList(schema)).toBeNull();
  });

  test.each([
    [true, PageQuery],
    [false, {}],
  ])('has pages: %s, as its query says', (isPaged, query) => {
    expect(csvList({ querystring: Type.Object(query), response: { 200: pageOf(Item) } })?.isPaged).toBe(
      isPaged,
    );
  });
});

describe('a cell', () => {
  test.each([
    ['=1+1', "'=1+1"],
    ['+1', "'+1"],
    ['-1', "'-1"],
    ['@sum', "'@sum"],
    ['＝1', "'＝1"],
    ['\t=1', '"\'\t\'=1"'],
    ['\r=1', '"\'\r\'=1"'],
    ['a;=1', '"a;\'=1"'],
    ['a;"=1', '"a;""\'=1"'],
    ['a\n@b', '"a\n\'@b"'],
    ['1.2-3+deb12u1', '1.2-3+deb12u1'],
    ['a=b c', 'a=b c'],
    ['one, two', '"one, two"'],
    ['say "hi"', '"say ""hi"""'],
    ['a\r\nb', '"a\r\nb"'],
    ['Ωmega é', 'Ωmega é'],
    [-5, '-5'],
    [true, 'true'],
    ['', ''],
  ])('%j is %j: a spreadsheet runs nothing, a parser finds the text', (value, cell) => {
    expect(lineOf(value)).toBe(`${cell}\r\n`);
  });
});

test('a file that is cut says so in its last line, which has every column', () => {
  expect(csvEnd([['a'], ['b']], { rows: 2, cursor: 'xyz' })).toBe(
    '# cut after 2 rows: the list goes on with cursor=xyz,\r\n',
  );
});

test.each([
  [undefined, false],
  ['*/*', false],
  ['application/json', false],
  ['text/html, */*;q=0.8', false],
  ['text/csv', true],
  ['Text/CSV; header=present', true],
  ['text/csv, application/json;q=0.5', true],
  ['text/csv;q=0.5, application/json', false],
  ['text/csv, application/json', false],
  ['text/csv, */*;q=0.1', true],
  ['text/*', true],
  ['text/csv;q=0', false],
  ['text/csv;q=0, */*', false],
  ['text/csv;q=x', false],
])('Accept: %s asks for CSV: %s', (accept, csv) => {
  expect(prefersCsv(accept)).toBe(csv);
});
