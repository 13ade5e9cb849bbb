import { expect, test } from 'vitest';
import { createTally, FIGURES } from './figure-rules.ts';
import { createReport, type ReportAbout } from './report-page.ts';

/** Letters that are written from right to left, a mark that turns what follows it, and markup; each one is found again. */
const hostile = (name: string) => `\u05e9${name}\u202e<img src=x onerror="alert(1)">&'`;
const PLACE = 'folder/0001.ndjson:1';
const AT = '2026-11-01T10:00:00Z';

/** A line of each folder that the report lists, in which others chose every name. */
const LINES: readonly (readonly [folder: string, line: object])[] = [
  ['hosts', { agent_id: 'h', hostname: hostile('host') }],
  ['policies', { sha256: 'p', name: hostile('policy'), rings: [hostile('canary'), hostile('rest')] }],
  [
    'updates',
    {
      ...{ outcome: 'waiting', name: hostile('package'), to_version: hostile('2'), agent_id: 'h', days: 3 },
      ...{ severity: 'high', reason: 'not_asked', stopped_by: null },
    },
  ],
  [
    'approvals',
    {
      ...{ is_override: true, bulk_id: 'b', approved_by: hostile('asker'), token_id: 't', issued_at: AT },
      override: { by: hostile('by'), reason: hostile('reason') },
    },
  ],
  [
    'events',
    {
      event: {
        ...{ id: 'b', created_at: Date.parse(AT) },
        content: JSON.stringify({ update_count: 2, filter: `name:${hostile('filter')}` }),
      },
    },
  ],
  [
    'rollouts',
    {
      ...{ policy_sha256: 'p', state: 'halted', halt_reason: hostile('halt'), entered: [AT] },
      packages: ['a', 'b'].map((name) => ({ name: hostile(name), version: hostile('1') })),
    },
  ],
  ['exceptions', { kind: 'hold', packages: [hostile('held-a'), hostile('held-b')], reason: hostile('why') }],
  ['exceptions', { kind: 'age', name: hostile('aged'), version: hostile('3'), created_by: hostile('eve') }],
  [
    'statements',
    {
      ...{ vulnerability: hostile('CVE-1'), name: hostile('stated'), status: 'accepted' },
      ...{ text: hostile('text'), created_by: hostile('ada') },
    },
  ],
  [
    'unfixed',
    {
      ...{ vulnerability: hostile('CVE-2'), package: hostile('open') },
      ...{ severity: 'low', mitigation: { hook: hostile('hook') } },
    },
  ],
  [
    'divergences',
    { name: hostile('split'), version: hostile('4'), hashes: [], decided_by: hostile('who'), state: 'open' },
  ],
  [
    'origins',
    { signing_key: hostile('key'), rule: 'age', reason: hostile('ours'), created_by: hostile('zoe') },
  ],
];

function reportOf(scope: ReportAbout['scope']): string {
  const report = createReport();
  for (const [folder, line] of LINES) report.take(folder, line, PLACE);
  return report.page({
    ...{ fleet_id: 'fleet', scope, since: AT, until: AT, made_at: AT, made_by: hostile('maker'), hosts: 1 },
    ...{ unknown: [], figures: createTally(FIGURES).result() },
  });
}

test.each([
  ['host', { kind: 'host', agent_id: 'h' }, 'host'],
  ['group', { kind: 'group', group: hostile('group') }, 'group'],
  ['pair of groups', { kind: 'groups', groups: [hostile('group-a'), hostile('group-b')] }, 'group-a'],
] as const)('hostile names turn nothing and act as no markup in the report of a %s', (_, given, named) => {
  const scope: ReportAbout['scope'] =
    given.kind === 'groups' ? { ...given, groups: [...given.groups] } : given;
  const page = reportOf(scope);
  expect(page).not.toContain('<img');
  // Cells and code isolate by this rule, other texts by `bdi`.
  expect(page).toContain('td > span, code { unicode-bidi: isolate; }');
  const names = new Set([...namesIn([LINES, scope]), hostile('maker')]);
  expect(names).toContain(hostile(named));
  const found = piecesOf(page).filter(({ text }) => /[\u0590-\u08ff\u202e]/.test(text));
  // Each name stands alone in an element that isolates it: two in one would change places.
  for (const { text, within } of found) {
    expect(names, within).toContain(text);
    expect(within, text).toMatch(/^<(?:bdi|code|td [^>]*><span)>$/);
  }
  const shown = new Set(found.map(({ text }) => text));
  const isOther = (name: string) => scope.kind !== 'host' && name === hostile('host');
  expect([...names].filter((name) => !shown.has(name) && !isOther(name))).toEqual([]);
});

/** Every name of a line, as the report shows it. */
function namesIn(value: unknown): string[] {
  if (typeof value === 'string') {
    if (value.startsWith('{')) return namesIn(JSON.parse(value));
    return value.includes('\u202e') ? [value] : [];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(namesIn);
}

/** The texts of a page, each with the tag before it: with that of its cell, where the tag is a `span`. */
function piecesOf(page: string): { text: string; within: string }[] {
  return [...page.matchAll(/(<td [^>]*><span>|<[^<>]*>)([^<]+)/g)].map(([, within = '', text = '']) => ({
    within,
    text: text.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code))),
  }));
}
