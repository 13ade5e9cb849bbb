import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { HELD } from './protocol-doc/held.ts';
import { openObjectsIn } from './protocol-doc/schema-rows.ts';
import { commandForms, OBJECTS } from './protocol-doc/schemas.ts';
import { readHeldTables } from './protocol-doc/tables.ts';

const ROOT = join(import.meta.dirname, '..');
/** Checked by other tests: protocol-routes.test.ts and protocol-rules.test.ts. */
const ELSEWHERE = ['routes', 'order of checks', 'renewal', 'results'];
const TABLES = readHeldTables(ROOT).filter(({ name }) => !ELSEWHERE.includes(name));

describe('docs/protocol.md and docs/protocol', () => {
  test('every checked table occurs exactly once, and no other table is marked as checked', () => {
    expect(TABLES.map(({ name }) => name).sort()).toEqual(Object.keys(HELD).sort());
  });

  test.each(TABLES)('$document: the table "$name" matches the code', ({ name, rows }) => {
    const expected = HELD[name] ?? [];
    const columns = expected[0]?.length ?? 0;
    expect(rows.map((row) => row.slice(0, columns))).toEqual(expected);
  });

  test.each(TABLES)('$document: every row of "$name" has all its cells', ({ rows }) => {
    expect(new Set(rows.map((row) => row.length)).size).toBe(1);
  });
});

test('the forms of a command differ only in action and params, as in the tables', () => {
  const forms = commandForms();
  for (const { members } of forms) expect(members).toEqual(forms[0]?.members);
  const actions = HELD.COMMAND_PARAMS?.flatMap(([member = '']) => (member.includes('.') ? [] : [member]));
  expect(forms.map(({ action }) => action)).toEqual(actions);
});

test('Problem is the only object that allows unknown members', () => {
  const open = Object.entries(OBJECTS).filter(([, schema]) => openObjectsIn(schema) > 0);
  expect(open.map(([name]) => name)).toEqual(['Problem']);
});

test('every link within the documents leads to a file, and to a heading of it', () => {
  const documents = [
    'docs/protocol.md',
    ...readdirSync(join(ROOT, 'docs/protocol')).map((name) => `docs/protocol/${name}`),
  ];
  const broken = documents.flatMap((document) =>
    linksOf(readFileSync(join(ROOT, document), 'utf8'))
      .filter((link) => !leadsSomewhere(join(ROOT, document), link))
      .map((link) => `${document} ${link}`),
  );
  expect(broken).toEqual([]);
});

function linksOf(text: string): string[] {
  return [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link);
}

function leadsSomewhere(document: string, link: string): boolean {
  const [path = '', heading] = link.split('#');
  const file = path === '' ? document : join(dirname(document), path);
  if (!existsSync(file)) return false;
  return heading === undefined || anchorsOf(readFileSync(file, 'utf8')).includes(heading);
}

/** Anchor names as on GitHub: lower case, words joined by hyphens, no other characters. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}
