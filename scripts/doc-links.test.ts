import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const DOCUMENTS = globSync(['*.md', '{docs,bench,examples}/**/*.md', '{apps,packages}/*/README.md'], {
  cwd: ROOT,
});
/** Where a path that is no link may begin: the threat model leaves `apps/` out, other documents the server. */
const BASES = ['', 'apps', 'apps/server/src', 'apps/agent/src'].map((base) => join(ROOT, base));

/** Links to files beside or below the document that lead nowhere. */
function deadLinks(document: string, text: string): string[] {
  const links = [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, link = '']) => link);
  const local = links.filter((link) => !/^[a-z]+:/.test(link) && !link.startsWith('/'));
  return local.filter((link) => !existsSync(join(ROOT, dirname(document), link)));
}

/** Test files that are cited by a path, and are not there. */
function deadTests(text: string): string[] {
  const cited = [...text.matchAll(/`([\w.-]+(?:\/[\w.-]+)+\.test\.ts)`/g)].map(([, path = '']) => path);
  return cited.filter((path) => !BASES.some((base) => existsSync(join(base, path))));
}

test.each(DOCUMENTS)('%s links to files that are there, and cites tests that are there', (document) => {
  const text = readFileSync(join(ROOT, document), 'utf8');
  expect([...deadLinks(document, text), ...deadTests(text)]).toEqual([]);
});

test('a link and a citation that lead nowhere are found', () => {
  expect(
    deadLinks('README.md', '[a](apps/nowhere.ts) [b](apps/agent#part) [c](https://x.example/y)'),
  ).toEqual(['apps/nowhere.ts']);
  expect(deadTests('`agent/src/main.test.ts`, `agent/src/nowhere.test.ts`')).toEqual([
    'agent/src/nowhere.test.ts',
  ]);
});
