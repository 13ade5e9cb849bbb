import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const DOCUMENTS = globSync(
  ['*.md', '{docs,bench,examples,packaging}/**/*.md', '{apps,packages}/*/README.md'],
  {
    cwd: ROOT,
  },
);
/** The folders from which a cited path may start: the threat model omits `apps/`, other documents `apps/server/src`. */
const BASES = ['', 'apps', 'apps/server/src', 'apps/agent/src'].map((base) => join(ROOT, base));

/** Relative links to files that do not exist. */
function deadLinks(document: string, text: string): string[] {
  const links = [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, link = '']) => link);
  const local = links.filter((link) => !/^[a-z]+:/.test(link) && !link.startsWith('/'));
  return local.filter((link) => !existsSync(join(ROOT, dirname(document), link)));
}

/** Test files that are cited by a path and do not exist. */
function deadTests(text: string): string[] {
  const cited = [...text.matchAll(/`([\w.-]+(?:\/[\w.-]+)+\.test\.ts)`/g)].map(([, path = '']) => path);
  return cited.filter((path) => !BASES.some((base) => existsSync(join(base, path))));
}

test.each(DOCUMENTS)('%s links to existing files and cites existing tests', (document) => {
  const text = readFileSync(join(ROOT, document), 'utf8');
  expect([...deadLinks(document, text), ...deadTests(text)]).toEqual([]);
});

test('a link and a citation of a missing file are found', () => {
  expect(
    deadLinks('README.md', '[a](apps/nowhere.ts) [b](apps/agent#part) [c](https://x.example/y)'),
  ).toEqual(['apps/nowhere.ts']);
  expect(deadTests('`agent/src/main.test.ts`, `agent/src/nowhere.test.ts`')).toEqual([
    'agent/src/nowhere.test.ts',
  ]);
});
