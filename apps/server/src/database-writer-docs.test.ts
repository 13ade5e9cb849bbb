import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { SEALED_COLUMNS } from './platform/db/create-row-seals.ts';
import { ENGINES } from './testing/engines.ts';

const DOCUMENT = readFileSync(new URL('../../../docs/database-writer.md', import.meta.url), 'utf8');

test('docs/database-writer.md says for every table what a writer of it gains', async () => {
  const [sqlite] = ENGINES;
  const tables = await (await sqlite?.open())?.read.introspection.getTables();
  const names = tables?.filter(({ isView }) => !isView).map(({ name }) => name) ?? [];
  expect(names.length).toBeGreaterThan(40);
  expect(names.filter((name) => !DOCUMENT.includes(`\`${name}\``))).toEqual([]);
});

test('docs/database-writer.md lists each sealed table among those that grant rights', () => {
  const [, sealed = ''] = DOCUMENT.split('## Rows that give rights: sealed');
  const [rows = ''] = sealed.split('\n## ');
  expect(Object.keys(SEALED_COLUMNS).filter((name) => !rows.includes(`| \`${name}\` |`))).toEqual([]);
});
