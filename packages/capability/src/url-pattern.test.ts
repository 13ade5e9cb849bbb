import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Unsupported } from './expression.ts';
import {
  matchesUrl,
  partsOfPattern,
  partsOfUrl,
  readComponents,
  readUrlPattern,
  type UrlParts,
} from './url-pattern.ts';

const file = path.join(
  import.meta.dirname,
  '../../../../shared/data/vectors/urlpattern-wpt-2025/urlpatterntestdata.json',
);
const isAbsent = !existsSync(file);
if (isAbsent) console.warn('skipped: the URL pattern data of WPT is not in ../shared/data/vectors');

interface Row {
  readonly pattern: readonly (string | URLPatternInit)[];
  readonly inputs?: readonly (string | URLPatternInit)[];
  readonly expected_match?: unknown;
  readonly expected_obj?: unknown;
}

/** Of these the platform's `URLPattern` makes patterns, and the standard does not; the first is ours to refuse. */
const TAKEN_BY_THE_PLATFORM = [
  '["https://{sub.}?example{.com/}foo"]',
  '[{"protocol":"http","port":"80 "}]',
  ...['#', '/', '\\\\', '\n', '\r', '\t'].map((c) => JSON.stringify([{ hostname: `bad${c}hostname` }])),
];

describe.skipIf(isAbsent)('the data of the web platform tests (../shared/data/vectors)', () => {
  const rows = (isAbsent ? [] : rowsOf(JSON.parse(readFileSync(file, 'utf8')))).filter(
    ({ pattern }) => !pattern.some((part) => JSON.stringify(part).includes('ignoreCase')),
  );
  const isError = ({ expected_obj }: Row) => expected_obj === 'error';

  test('it has rows of each kind', () => {
    expect(rows.length).toBeGreaterThan(300);
    expect(rows.filter(isError).length).toBeGreaterThan(30);
  });

  test.each(rows.filter((row) => !isError(row) && row.inputs))('$pattern against $inputs', (row) => {
    const url = partsOfInput(row.inputs ?? []);
    const pattern = patternOf(row.pattern);
    if (pattern === null) throw new Error('no pattern');
    const isMatch = url !== null && matchesUrl(readComponents(partsOfPattern(pattern)), url);
    expect(isMatch).toBe(row.expected_match !== null && row.expected_match !== 'error');
  });

  test.each(rows.filter(isError))('$pattern is no pattern', ({ pattern }) => {
    const taken = patternOf(pattern);
    if (taken !== null) expect(TAKEN_BY_THE_PLATFORM).toContain(JSON.stringify(pattern));
    const [only] = pattern;
    if (pattern.length === 1 && typeof only === 'string') expect(readUrlPattern(only).ok).toBe(false);
  });
});

describe('remote patterns of a capability (R8)', () => {
  test.each([
    ['https://x.y', 'https://x.y/a/b?c#d', true],
    ['https://x.y/', 'https://x.y/a/b', true],
    ['https://x.y/api', 'https://x.y/api?q=1#h', true],
    ['https://x.y/api', 'https://x.y/api/v1', false],
    ['https://x.y/api?', 'https://x.y/api?q=1', true],
    ['https://x.y/api/*', 'https://x.y/api/v1/x', true],
    ['https://x.y?a=1', 'https://x.y/deep?a=1', true],
    ['https://x.y?a=1', 'https://x.y/?a=2', false],
    ['https://x.y', 'https://x.y:8443/', false],
    ['https://x.y', 'https://x.y:443/', true],
    ['https://x.y', 'http://x.y/', false],
    ['https://x.y', 'https://user:secret@x.y/', true],
    ['https://*.x.y', 'https://a.b.x.y/', true],
    ['https://*.x.y', 'https://x.y/', false],
    ['https://*.x.y', 'https://evil-x.y/', false],
    ['https://x.y', 'https://x.y.evil.z/', false],
    ['https://x.y', 'https://x.y@evil.z/', false],
    ['https://x.y', 'https://evil.z/#https://x.y', false],
    ['http://*', 'http://anything.at.all/', true],
    ['http://*', 'http://anything.at.all:81/', false],
    ['http://localhost:*', 'http://localhost:5173/', true],
    ['http{s}?://x.y', 'http://x.y/', true],
    ['https://:sub.x.y', 'https://a.b.x.y/', false],
    ['https://x.y/:id(\\d+)', 'https://x.y/12', true],
    ['https://x.y/:id(\\d+)', 'https://x.y/1a', false],
    ['https://x.y/{a/}*b', 'https://x.y/a/a/b', true],
    ['https://x.y/(a|bc)+', 'https://x.y/a/bc/a', true],
    ['https://x.y/{(a|bc)}+', 'https://x.y/abca', true],
    ['https://x.y/([^a-c]{2})', 'https://x.y/de', true],
    ['https://x.y/([^a-c]{2})', 'https://x.y/da', false],
    ['https://xn--bcher-kva.y', 'https://bücher.y/', true],
    ['app://localhost', 'app://localhost/index.html', true],
    ['data\\:*', 'data:text/html,x', true],
  ])('%s serves %s: %s', (pattern, url, isServed) => {
    expect(serves(pattern, url)).toBe(isServed);
  });

  test.each([
    ['x.y', 'no URL pattern'],
    ['/path', 'no URL pattern'],
    ['', 'no URL pattern'],
    ['https://x.y{/only}', 'has "/" in its host'],
    ['https://x.y\\\\only', 'has "\\\\" in its host'],
    ['https://{a.}?x.y{/only/}', 'has "/" in its host'],
    ['https://{x.y\\?}z', 'has "?" in its host'],
    ['https://x.y{#}', 'has "#" in its host'],
    ['https://x.y/(', 'no URL pattern'],
    ['https://x.y/(?=a)b', 'no URL pattern'],
    ['https://x.y/(a(?=b)b)', 'looks ahead or behind'],
    ['https://x.y/(a(?<!b)c)', 'looks ahead or behind'],
    ['https://x.y/([[a][b]])', 'class in a class'],
    ['https://x.y/(\\p{L})', 'has "\\p"'],
    ['https://x.y/(\\bfoo)', 'has "\\b"'],
    ['https://x.y/(a{2000})', 'repeats more than 1000 times'],
    ['https://x.y/((?:(?:a{99}){99}){99})', 'needs more than 4096 states'],
    [`https://x.y/(${'(?:'.repeat(33)}a${')'.repeat(33)})`, 'nests groups deeper than 32'],
    [`https://x.y/${'a'.repeat(3_000)}`, 'longer than 2048'],
  ])('%s is an error that says why', (pattern, why) => {
    const result = readUrlPattern(pattern);
    expect(result.ok ? 'taken' : result.fault).toContain(why);
  });

  test('a pattern that slows a backtracking engine takes time linear in the URL', () => {
    // 2^60 ways for an engine that tries one after the other.
    expect(serves('https://x.y/((?:a|a)+)b', `https://x.y/${'a'.repeat(60)}`)).toBe(false);
    expect(serves('https://x.y/((?:(?:(?:(?:a{0}){999}){999}){999}){999})b', 'https://x.y/b')).toBe(true);
    expect(serves('https://x.y/((?:a*)*)b', `https://x.y/${'a'.repeat(10_000)}`)).toBe(false);
  });

  test('it decides as the platform’s own URLPattern does, for any pattern and URL', () => {
    const piece = fc.constantFrom(
      ...[
        'a',
        'b',
        '/',
        '.',
        '-',
        '*',
        ':id',
        ':id?',
        ':x*',
        ':y+',
        '{a}?',
        '{/b}*',
        '(a|b)',
        '(\\d+)?',
        '{a:id}+',
      ],
      ...['([a-b]+)', '(.*)', '(\\w{1,2})', '\\*', '(a.b)', '([^\\d/]*)', '{-(a)}+'],
    );
    const host = fc.constantFrom('a.b', '*.b', ':h.b', '{a.}?b', 'a', '(a|b).b', '*');
    const text = fc.array(fc.constantFrom('a', 'b', '/', '.', '-', '1', 'ab', '*'), { maxLength: 8 });
    const matched = { yes: 0, no: 0 };
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 5 }),
        host,
        text,
        fc.constantFrom('a.b', 'b', 'c.a.b'),
        (p, h, t, on) => {
          const pattern = `https://${h}/${p.map((one, i) => one.replaceAll(/:[a-z]+/g, `:n${i}`)).join('')}`;
          const url = `https://${on}/${t.join('')}`;
          const theirs = patternOf([pattern]);
          const read = theirs === null ? null : partsOfPattern(theirs);
          const parts = partsOfUrl(url);
          if (theirs === null || read === null || parts === null) return;
          const isMatch = matchesUrl(readComponents(read), parts);
          matched[isMatch ? 'yes' : 'no'] += 1;
          expect({ pattern, url, isMatch }).toEqual({ pattern, url, isMatch: theirs.test(url) });
        },
      ),
      { numRuns: 3_000 },
    );
    expect(matched.yes).toBeGreaterThan(100);
    expect(matched.no).toBeGreaterThan(100);
  });

  test('any text is read or refused, and never throws', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string().map((s) => `https://x.y/(${s})`),
        ),
        fc.webUrl(),
        (pattern, url) => {
          const result = readUrlPattern(pattern);
          const parts = partsOfUrl(url);
          if (result.ok && parts !== null) matchesUrl(result.matcher.components, parts);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test('an expression that needs more features is reported', () => {
    expect(() => readComponents({ ...partsOfPattern(new URLPattern({})), pathname: '(\\B)' })).toThrow(
      Unsupported,
    );
  });
});

function serves(pattern: string, url: string): boolean {
  const result = readUrlPattern(pattern);
  const parts = partsOfUrl(url);
  if (!result.ok) throw new Error(result.fault);
  return parts !== null && matchesUrl(result.matcher.components, parts);
}

function patternOf([input, base]: Row['pattern']): URLPattern | null {
  try {
    return typeof base === 'string' ? new URLPattern(input ?? {}, base) : new URLPattern(input ?? {});
  } catch {
    return null;
  }
}

/** The components of an input of the data: of a URL, or of an object by way of a pattern that takes everything. */
function partsOfInput([input, base]: readonly (string | URLPatternInit)[]): UrlParts | null {
  if (typeof input === 'string') {
    const url = URL.parse(input, typeof base === 'string' ? base : undefined);
    return url === null ? null : partsOfUrl(url.href);
  }
  const any = '*';
  const everything = new URLPattern({
    ...{ protocol: any, username: any, password: any, hostname: any },
    ...{ port: any, pathname: any, search: any, hash: any },
  });
  const found = base === undefined ? execOrNull(everything, input ?? {}) : null;
  if (found === null) return null;
  return {
    protocol: found.protocol.input,
    username: found.username.input,
    password: found.password.input,
    hostname: found.hostname.input,
    port: found.port.input,
    pathname: found.pathname.input,
    search: found.search.input,
    hash: found.hash.input,
  };
}

function execOrNull(pattern: URLPattern, input: URLPatternInit) {
  try {
    return pattern.exec(input);
  } catch {
    return null;
  }
}

function rowsOf(data: unknown): Row[] {
  return Array.isArray(data) ? data.filter(isRow) : [];
}

function isRow(row: unknown): row is Row {
  return row !== null && typeof row === 'object' && 'pattern' in row;
}
