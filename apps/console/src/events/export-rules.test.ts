import { expect, test } from 'vitest';
import type { EventItem } from './event-item.ts';
import { csvCell, exportText } from './export-rules.ts';

const EVENT: EventItem = {
  ...{ id: '1', kind: 'security', type: 'AGENT_ERROR', severity: 'error', component: 'agent' },
  ...{ agent_id: 'a', hostname: 'web-1', actor: null, content: { message: 'a "word",\nand more' } },
  ...{ created_at: '2026-01-01T00:00:00.000Z', position: 7, previous_hash: null, hash: 'ff' },
};

test('a JSON line contains the whole event', () => {
  const text = exportText([EVENT, EVENT], 'jsonl');
  expect(text.endsWith('\n')).toBe(true);
  expect(
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual([EVENT, EVENT]);
});

test('a row of CSV has a cell for each column, quoted where it must be', () => {
  const [head, row, end] = exportText([EVENT], 'csv').split('\r\n');
  expect(head).toBe(
    'id,created_at,kind,type,severity,component,agent_id,hostname,actor,position,previous_hash,hash,content',
  );
  expect(row).toBe(
    '1,2026-01-01T00:00:00.000Z,security,AGENT_ERROR,error,agent,a,web-1,,7,,ff,"{""message"":""a \\""word\\"",\\nand more""}"',
  );
  expect(end).toBe('');
});

test.each([
  ['=cmd()', "'=cmd()"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@a', "'@a"],
  ['\tx', "'\tx"],
  ['=a,b', '"\'=a,b"'],
  ['a-b', 'a-b'],
  ['', ''],
])('%j is written as %j: no cell is a formula', (text, cell) => {
  expect(csvCell(text)).toBe(cell);
});
