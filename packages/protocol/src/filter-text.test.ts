import fc from 'fast-check';
import { Check } from 'typebox/value';
import { expect, test } from 'vitest';
import { HOST_FILTERS, UPDATE_FILTERS } from './filter-text.ts';
import { ECOSYSTEMS } from './scalars.ts';
import { UPDATE_STATES, VERDICTS } from './states.ts';
import { ADVISORY_SEVERITIES, UpdateFilter } from './updates-api.ts';

test.each<[string, UpdateFilter]>([
  ['', {}],
  ['  ', {}],
  ['state:pending ecosystem:apt host:web-*', { state: 'pending', ecosystem: 'apt', host: 'web-*' }],
  ['openssl', { q: 'openssl' }],
  ['open ssl state:failed dev', { q: 'open ssl dev', state: 'failed' }],
  ['exploited:true security:false', { exploited: true, security: false }],
  ['introduces:false stays:true fixes:true', { introduces: false, stays: true, fixes: true }],
  ['group:"web servers"', { group: 'web servers' }],
  ['"state:pending"', { q: 'state:pending' }],
  ['q:"a \\"b\\" \\\\"', { q: 'a "b" \\' }],
  ['name:libc6:i386', { name: 'libc6:i386' }],
  ['STATE:pending', { state: 'pending' }],
  ['since:2026-11-21T09:00:00Z', { since: '2026-11-21T09:00:00Z' }],
])('%j is %j', (text, filter) => {
  expect(UPDATE_FILTERS.parse(text)).toEqual({ ok: true, filter });
});

test.each([
  ['colour:red', 0, 10, /there is no colour: .*state, open, ecosystem/],
  ['apt state:new', 4, 9, /^state is one of pending, .*superseded$/],
  ['ecosystem:', 0, 10, /^ecosystem is one of npm, pypi, apt, dnf, tidegate$/],
  ['security:maybe', 0, 14, /^security is one of true, false$/],
  ['state:failed state:pending', 13, 13, /given twice/],
  ['q:a b', 4, 1, /given twice/],
  ['group:"web', 0, 10, /not closed/],
  ['agent:7', 0, 7, /^agent is UUID/],
  ['since:yesterday', 0, 15, /RFC 3339/],
  [`name:${'a'.repeat(215)}`, 0, 220, /at most 214 characters/],
  ['a'.repeat(2_001), 0, 2_001, /longer than 2000/],
])('%j is wrong at %i, and what is allowed is said', (text, at, length, message) => {
  expect(UPDATE_FILTERS.parse(text)).toEqual({
    ok: false,
    errors: [{ at, length, message: expect.stringMatching(message) }],
  });
});

test.each([
  ['web-01 rack', { q: 'web-01 rack' }],
  ['cve:CVE-2026-1234 group:web', { cve: 'CVE-2026-1234', group: 'web' }],
  [
    'package:openssl below:3.0.14-1~deb12u1 ecosystem:apt',
    { package: 'openssl', below: '3.0.14-1~deb12u1', ecosystem: 'apt' },
  ],
  ['below:"1:2.3" package:perl', { package: 'perl', below: '1:2.3' }],
  [
    'status:needs_attention tag:env=prod os:debian',
    { status: 'needs_attention', tag: 'env=prod', os: 'debian' },
  ],
  ['lists:stale clock:wrong probes:red', { lists: 'stale', clock: 'wrong', probes: 'red' }],
  ['reboot:needed services-restart:unknown', { reboot: 'needed', services_restart: 'unknown' }],
  ['online:false clone-suspected:true', { online: 'false', clone_suspected: 'true' }],
])('of hosts, %j is %j, and back', (text, filter) => {
  expect(HOST_FILTERS.parse(text)).toEqual({ ok: true, filter });
  expect(HOST_FILTERS.parse(HOST_FILTERS.format(filter))).toEqual({ ok: true, filter });
});

test.each([
  [
    'state:pending',
    /^there is no state: what can be filtered by is status, group, tag, os, .*agent-version$/,
  ],
  [
    'status:gone',
    /^status is one of online, offline, never, bound, unbound, revoked, clone_suspected, needs_attention$/,
  ],
  ['lists:old', /^lists is one of stale, current, unknown$/],
  ['online:maybe', /^online is one of true, false$/],
  ['below:3', /^below needs package$/],
])('of hosts, %j is wrong, and what is allowed is said', (text, message) => {
  const parsed = HOST_FILTERS.parse(text);
  expect(parsed.ok ? [] : parsed.errors.map((error) => error.message)).toEqual([
    expect.stringMatching(message),
  ]);
});

test('all errors are reported at once, from left to right', () => {
  const parsed = UPDATE_FILTERS.parse('state:new x colour:red');
  expect(parsed.ok ? [] : parsed.errors.map(({ at }) => at)).toEqual([0, 12]);
});

const text = (maxLength: number) =>
  fc.string({ minLength: 1, maxLength, unit: 'grapheme' }).filter((one) => one.length <= maxLength);
const line = text(100).filter((one) => !/\p{Cc}/u.test(one));
const time = fc
  .date({ min: new Date('2000-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString());
// Graphemes contain line separators, which no name may have.
const filters: fc.Arbitrary<UpdateFilter> = fc
  .record(
    {
      state: fc.constantFrom(...UPDATE_STATES),
      ecosystem: fc.constantFrom(...ECOSYSTEMS),
      name: text(200),
      q: text(128),
      agent_id: fc.uuid(),
      group: fc.constantFrom('web', 'web servers', 'a"b', 'a\\', ':', 'é'),
      severity: fc.constantFrom(...ADVISORY_SEVERITIES),
      verdict: fc.constantFrom(...VERDICTS),
      open: fc.boolean(),
      stopped_under: fc.constantFrom('any', 'introduced'),
      blocked: fc.boolean(),
      security: fc.boolean(),
      exploited: fc.boolean(),
      introduces: fc.boolean(),
      stays: fc.boolean(),
      fixes: fc.boolean(),
      fixes_severity: fc.constantFrom(...ADVISORY_SEVERITIES),
      fixes_exploited: fc.boolean(),
      os: fc.constantFrom('debian', 'rocky', 'opensuse-leap'),
      host: line,
      since: time,
      until: time,
    },
    { requiredKeys: [] },
  )
  .filter((filter) => Check(UpdateFilter, filter));

test('a filter round-trips through its text', () => {
  fc.assert(
    fc.property(filters, (filter) => {
      expect(UPDATE_FILTERS.parse(UPDATE_FILTERS.format(filter))).toEqual({ ok: true, filter });
    }),
  );
});

test('it never throws, whatever the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'state:"\\ pending*') }), (any) => {
      const parsed = UPDATE_FILTERS.parse(any);
      if (parsed.ok) expect(UPDATE_FILTERS.parse(UPDATE_FILTERS.format(parsed.filter))).toEqual(parsed);
    }),
  );
});
