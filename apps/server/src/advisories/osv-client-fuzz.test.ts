import { once } from 'node:events';
import { createServer } from 'node:http';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { advisoryDetails, fixedIn } from './finding-details.ts';
import { createOsvClient } from './osv-client.ts';

// Upstream responses are untrusted: each is read, refused or a fault value, and only one response means "clean".
const isLong = process.env.TIDEGATE_LONG === '1';
const runs = (numRuns: number) => (isLong ? { numRuns: 1e9, interruptAfterTimeLimit: 60_000 } : { numRuns });
const HUGE = 100_000;
/** Backtracking over 10^5 characters takes minutes of CPU time; linear reading takes milliseconds. */
const HUGE_MS = 5_000;

const SUBJECTS = [
  { ecosystem: 'Debian:12', name: 'openssl', version: '3.0.11-1' },
  { ecosystem: 'npm', name: 'left', version: '1.0.0' },
];

interface Reply {
  readonly status: number;
  readonly body: string;
}

/** A source with scripted answers, whatever the path. */
async function startSource(reply: (asked: string) => Reply) {
  let calls = 0;
  const server = createServer((request, response) => {
    let asked = '';
    request
      .on('data', (chunk) => {
        asked += chunk;
      })
      .on('end', () => {
        calls += 1;
        const { status, body } = reply(asked);
        const isBare = status === 204 || status === 304;
        response.writeHead(status, { location: '/elsewhere' }).end(isBare ? undefined : body);
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close().closeAllConnections());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : null;
  const client = createOsvClient({ baseUrl: `http://127.0.0.1:${port}`, sleep: async () => {} });
  onTestFinished(() => client.close());
  return {
    client,
    calls: () => calls,
    restart() {
      calls = 0;
    },
  };
}

function mostly<T>(value: fc.Arbitrary<T>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 12, arbitrary: value }, { weight: 1, arbitrary: fc.jsonValue() });
}

const id = fc.oneof(fc.constantFrom('CVE-1', 'MAL-2025-1', '', '__proto__', 'x'.repeat(257)), fc.string());
const vuln = fc.record(
  { id: mostly(id), modified: mostly(fc.constantFrom('2026-01-02T00:00:00Z', '')) },
  { requiredKeys: [] },
);
const token = fc.constantFrom('', 'page:1', 'RklSU1RfUEFHRV9UT0tFTg==', 'x'.repeat(4_097));
const result = fc.record(
  { vulns: mostly(fc.array(mostly(vuln), { maxLength: 3 })), next_page_token: mostly(token) },
  { requiredKeys: [] },
);
const batch = fc.record({ results: mostly(fc.array(mostly(result), { minLength: 1, maxLength: 3 })) });

const event = fc.dictionary(
  fc.constantFrom('introduced', 'fixed', 'last_affected', 'limit', '__proto__'),
  mostly(fc.constantFrom('0', '1', '2.0.0', '3.0.12-1')),
  { maxKeys: 2 },
);
const affected = fc.record(
  {
    package: mostly(
      fc.constantFrom({ ecosystem: 'npm', name: 'left' }, { ecosystem: 'Debian', name: 'openssl' }),
    ),
    ranges: mostly(
      fc.array(
        mostly(
          fc.record({
            type: mostly(fc.constantFrom('GIT', 'SEMVER')),
            events: mostly(fc.array(mostly(event), { maxLength: 3 })),
          }),
        ),
        { maxLength: 2 },
      ),
    ),
  },
  { requiredKeys: [] },
);
const record = fc.record(
  {
    id: mostly(fc.constant('CVE-1')),
    modified: mostly(fc.constant('2026-01-02T00:00:00Z')),
    summary: mostly(fc.string()),
    aliases: mostly(fc.array(mostly(id), { maxLength: 3 })),
    severity: mostly(
      fc.array(
        mostly(
          fc.record({
            type: fc.constant('CVSS_V3'),
            score: fc.constantFrom('CVSS:3.1/AV:N', 'high', 'CVSS:3.1/__proto__:x'),
          }),
        ),
      ),
    ),
    database_specific: mostly(
      fc.record(
        { cwe_ids: mostly(fc.constant(['CWE-506'])), severity: fc.jsonValue() },
        { requiredKeys: [] },
      ),
    ),
    affected: mostly(fc.array(mostly(affected), { maxLength: 3 })),
  },
  { requiredKeys: ['id', 'modified'] },
);

/** Valid JSON, JSON cut short, JSON with text inserted, or no JSON at all. */
function bodyOf(value: fc.Arbitrary<unknown>): fc.Arbitrary<string> {
  const json = value.map((each) => JSON.stringify(each) ?? '');
  const wedge = fc.constantFrom(
    '{"__proto__":{"x":1}}',
    '"constructor":{"prototype":{"x":1}},',
    '\u0000',
    '\ud800',
    '1e999',
    ',',
    ']',
    '{',
  );
  return fc.oneof(
    { weight: 6, arbitrary: json },
    {
      weight: 1,
      arbitrary: fc.tuple(json, fc.nat()).map(([text, at]) => text.slice(0, at % (text.length + 1))),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(json, wedge, fc.nat())
        .map(
          ([text, some, at]) =>
            text.slice(0, at % (text.length + 1)) + some + text.slice(at % (text.length + 1)),
        ),
    },
    {
      weight: 1,
      arbitrary: fc.oneof(fc.string(), fc.constantFrom('', '{}', 'null', '[]', '<html>', '{"results":[]}')),
    },
  );
}

const status = fc.oneof(
  { weight: 8, arbitrary: fc.constant(200) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(204, 206, 301, 302, 304, 308, 400, 401, 403, 404, 418, 429, 500, 503),
  },
);

test('any response gives every subject one answer, and "clean" only if the source said exactly that', async () => {
  let reply: Reply = { status: 200, body: '' };
  const source = await startSource(() => reply);
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(
      bodyOf(fc.oneof({ weight: 4, arbitrary: batch }, { weight: 1, arbitrary: fc.jsonValue() })),
      status,
      async (body, code) => {
        reply = { status: code, body };
        source.restart();
        const answers = await source.client.query(SUBJECTS);
        expect(answers).toHaveLength(SUBJECTS.length);
        expect(source.calls()).toBeLessThanOrEqual(256);
        for (const [at, answer] of answers.entries()) {
          seen.add(answer.kind);
          if (answer.kind === 'hits' && answer.ids.length === 0)
            expect(code === 200 && saysClean(body, at), body).toBe(true);
          if (answer.kind === 'refused') expect(code).toBe(400);
        }
        expectUnpolluted();
      },
    ),
    runs(1_500),
  );
  expect([...seen].toSorted()).toEqual(['garbage', 'hits', 'refused', 'unreachable']);
});

/** Parsed independently of the client: as many results as queries, and this one an object without hits or token. */
function saysClean(body: string, at: number): boolean {
  const answer: unknown = JSON.parse(body);
  if (answer === null || typeof answer !== 'object' || !('results' in answer)) return false;
  const { results } = answer;
  if (!Array.isArray(results) || results.length !== SUBJECTS.length) return false;
  const own: unknown = results[at];
  if (own === null || typeof own !== 'object' || Array.isArray(own)) return false;
  const hasHits = 'vulns' in own && !(Array.isArray(own.vulns) && own.vulns.length === 0);
  return !hasHits && !('next_page_token' in own && own.next_page_token !== '');
}

const HIT = { vulns: [{ id: 'A', modified: '1' }] };
const MORE = { next_page_token: 'x' };

test.each([
  ['endless empty pages with a token', 200, MORE, MORE, 50],
  ['endless pages with the same hit', 200, { ...HIT, ...MORE }, { ...HIT, ...MORE }, 50],
  ['one clean, one endless', 200, MORE, {}, 50],
  ['a refusal of everything', 400, {}, {}, 5],
])('%s: it ends within its limit of calls, and is never clean', async (_what, code, first, second, limit) => {
  const source = await startSource((asked) => {
    // Answered queries are not repeated: only the first one is left then.
    const results = asked.includes('"left"') ? [first, second] : [first];
    return { status: code, body: JSON.stringify({ results }) };
  });
  const [endless] = await source.client.query(SUBJECTS);
  expect(endless?.kind).not.toBe('hits');
  expect(source.calls()).toBe(limit);
});

test('any response to a record query is that record, absent or garbage; showing it never throws', async () => {
  let reply: Reply = { status: 200, body: '' };
  const source = await startSource(() => reply);
  const kinds = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(
      bodyOf(fc.oneof({ weight: 4, arbitrary: record }, { weight: 1, arbitrary: fc.jsonValue() })),
      status,
      async (body, code) => {
        reply = { status: code, body };
        const answer = await source.client.fetchRecord('CVE-1');
        kinds.set(answer.kind, (kinds.get(answer.kind) ?? 0) + 1);
        if (answer.kind === 'record') expect(answer.record.id).toBe('CVE-1');
        show(body);
        expectUnpolluted();
      },
    ),
    runs(1_500),
  );
  expect([...kinds.keys()].toSorted()).toEqual(['absent', 'garbage', 'record', 'unreachable']);
});

test.each(['CVSS:3.1/', 'AV:N/', 'a', ' ', ': ', 'w: ', '9', '1.', '~', '-_', '[', '{"a":', '\\', '"'])(
  '10^5 times %j in a record takes no time',
  (part) => {
    const huge = part.repeat(HUGE);
    const before = process.threadCpuUsage();
    const events = [{ introduced: '0' }, { fixed: huge }];
    const given = {
      id: 'CVE-1',
      modified: '1',
      summary: huge,
      aliases: [huge],
      severity: [
        { type: 'CVSS_V3', score: `CVSS:3.1/${huge}` },
        { type: 'x', score: huge },
      ],
      database_specific: { cwe_ids: [huge], severity: huge },
      affected: [
        { package: { ecosystem: 'npm', name: huge }, ranges: [{ type: 'SEMVER', events }] },
        { package: { ecosystem: 'npm', name: 'left' }, ranges: [{ type: 'SEMVER', events }] },
      ],
    };
    show(JSON.stringify(given));
    show(huge);
    const { user, system } = process.threadCpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(HUGE_MS);
  },
);

/** What operators see of a stored record, whatever it contains. */
function show(text: string): void {
  const details = advisoryDetails('CVE-1', text);
  expect(details.summary.length).toBeLessThanOrEqual(500);
  expect(details.aliases.length).toBeLessThanOrEqual(100);
  for (const [ecosystem, subject] of [
    ['npm', { ecosystem: 'npm', name: 'left', version: '1.0.0' }],
    ['apt', { ecosystem: 'Debian:12', name: 'openssl', version: '3.0.11-1' }],
  ] as const) {
    fixedIn(details.record, ecosystem, subject);
  }
}

function expectUnpolluted(): void {
  for (const prototype of [Object.prototype, Array.prototype, String.prototype]) {
    expect(Object.keys(prototype)).toEqual([]);
  }
}
