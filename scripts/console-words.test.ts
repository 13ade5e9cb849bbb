import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/** Words of the inside, and how people say it. */
const BANNED: readonly (readonly [word: RegExp, instead: string])[] = [
  [/\bclosures?\b/i, 'what would be installed'],
  [/\bledgers?\b/i, 'record'],
  [/\bhand(?:ed|s)? back\b/i, 'returned to pending'],
  [/\bmint(?:ed|s)?\b/i, 'approved'],
  [/\bsweeps?\b/i, 'the server'],
  [/\bsoak(?:s|ed|ing)? (?:time|period|any)/i, 'waiting time'],
  [/\bdead letters?\b/i, 'given up'],
  [/\bway back\b/i, 'rollback'],
  [/\btoken famil(?:y|ies)\b/i, 'credentials'],
  [/\bEpochs?\b/, 'restores'],
  [/(?<!\/)\bnotices?\b/i, 'message'],
  [/is anything lying/i, 'can I trust this'],
  [/the same as a table/i, 'show the numbers'],
  [/\b[ACER][1-9]\b/, 'what the rule says'],
];

const CONSOLE = fileURLToPath(new URL('../apps/console/src', import.meta.url));
const FILES = globSync('**/*.{ts,tsx}', { cwd: CONSOLE, exclude: ['**/*.test.*'] });

/** What people read of a source: text between tags, and quoted sentences. */
function readableText(source: string): readonly string[] {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$|^import .*$/gm, '');
  const between = [...code.matchAll(/[>}]([^<>{}=;]*[a-z][^<>{}=;]*)[<{]/gi)].map(([, text = '']) => text);
  const quoted = [...code.matchAll(/(["'`])((?:(?!\1)[^\\\n]|\\.)* (?:(?!\1)[^\\\n]|\\.)*)\1/g)].map(
    ([, , text = '']) => text.replaceAll(/\$\{[^}]*\}/g, '…'),
  );
  return [...between, ...quoted];
}

test('no page uses a word of the inside', () => {
  expect(FILES.length).toBeGreaterThan(100);
  const found = FILES.flatMap((file) =>
    readableText(readFileSync(join(CONSOLE, file), 'utf8')).flatMap((text) =>
      BANNED.filter(([word]) => word.test(text)).map(
        ([, instead]) => `${file}: ${text.trim()} (say: ${instead})`,
      ),
    ),
  );
  expect(found).toEqual([]);
});

test.each([
  ['<p>It is in the closure of</p>', 1],
  ['<Page lead="Nothing of the closure is" />', 1],
  ["const text = 'handed back by the gate';", 1],
  ['<p>\n  Blocked by A1.\n</p>', 1],
  ["const kind = 'closure';", 0],
  ['/** The closure of an update (A1). */', 0],
])('%s has %d', (source, count) => {
  const found = readableText(source).filter((text) => BANNED.some(([word]) => word.test(text)));
  expect(found).toHaveLength(count);
});

/** A time that is relative stands behind no "since": "since 3 h ago" is no English. */
const SINCE_AGO = /\bsince(?:\s|\{' '\})*<Time\b/;

test('no page says "since 3 h ago": that is `Lasting`', () => {
  const found = FILES.filter((file) => SINCE_AGO.test(readFileSync(join(CONSOLE, file), 'utf8')));
  expect(found).toEqual([]);
  expect("offline since{' '}\n <Time at={at} />").toMatch(SINCE_AGO);
});
