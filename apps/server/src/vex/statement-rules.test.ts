import { describe, expect, test } from 'vitest';
import type { Finding } from '../advisories/closure-facts.ts';
import { excusedFindings, STATEMENT_USES_MAX } from '../approvals/counting-rules.ts';
import type { GatePolicy } from '../approvals/gate-facts.ts';
import { type StatementFact, type StatementTarget, statementsFor } from './statement-rules.ts';

const NOW_MS = 1_000_000;
const HOST: StatementTarget = {
  ...{ ecosystem: 'apt', agentId: 'host-1', group: 'web', distribution: 'debian', nowMs: NOW_MS },
};
const FINDING: Finding = {
  ...{ package: 'zlib1g', version: '1.2.13', id: 'DEBIAN-CVE-1', aliases: [], severity: null, summary: '' },
  ...{ fixedIn: null, inClosure: 'top', change: 'still_present', malicious: false, kev: false },
  names: ['DEBIAN-CVE-1', 'CVE-1'],
};
const STATEMENT: StatementFact = {
  ...{ id: 's1', sha256: 'a'.repeat(64), status: 'not_affected', vulnerability: 'CVE-1', ecosystem: 'apt' },
  ...{ package: 'zlib1g', distribution: 'debian', versions: ['1.2.13'], scope: { kind: 'all' } },
  ...{ endsAtMs: NOW_MS + 1, endedAtMs: null },
};
const POLICY: GatePolicy = {
  ...{ ageMode: 'off', vulnerabilities: 'any', uncovered: 'block', unimportant: 'pass' },
  unchecked: 'warn',
};
const DEBIAN = { by: 'debian', status: 'unimportant' } as const;
const accepted = { status: 'accepted' } as const;
const introduced = { change: 'introduced' } as const;
const npm = { ecosystem: 'npm', distribution: null } as const;

interface Case {
  finding?: Partial<Finding>;
  statement?: Partial<StatementFact> | null;
  host?: Partial<StatementTarget>;
  policy?: Partial<GatePolicy>;
  by?: 'operator' | 'sweep';
}

/** As an approval does it: the statements of the host first, then those that the gate uses. */
function outcome({ finding, statement = {}, host, policy, by = 'operator' }: Case): string {
  const found = { ...FINDING, ...finding };
  const target = { ...HOST, ...host };
  const given = statement === null ? [] : [{ ...STATEMENT, ...statement }];
  return excuse([found], given, { target, policy, by });
}

function excuse(
  findings: readonly Finding[],
  given: readonly StatementFact[],
  {
    target = HOST,
    policy,
    by = 'operator',
  }: { target?: StatementTarget; policy?: Case['policy']; by?: Case['by'] },
): string {
  const statements = statementsFor(findings, given, target);
  const excused = excusedFindings(findings, {
    ...{ statements, ecosystem: target.ecosystem, policy: { ...POLICY, ...policy } },
    request: { by, override: false, overrideReason: null },
  });
  const words = findings.map((finding) => {
    const found = excused.get(finding);
    if (!found) return 'counts';
    return found.by === 'vendor' ? `${found.vendor}: ${found.status}` : found.statement.id;
  });
  return [...new Set(words)].join(', ');
}

describe('which findings count', () => {
  test.each<[string, Case, string]>([
    // Nothing excuses.
    ['no statement', { statement: null }, 'counts'],
    ['no statement, introduced', { statement: null, finding: introduced }, 'counts'],
    // not_affected
    ['not_affected', {}, 's1'],
    ['not_affected, introduced', { finding: introduced }, 's1'],
    ['not_affected, known to be exploited', { finding: { kev: true } }, 's1'],
    ['not_affected, malicious', { finding: { malicious: true } }, 'counts'],
    ['not_affected, malicious and introduced', { finding: { malicious: true, ...introduced } }, 'counts'],
    // accepted
    ['accepted, stays', { statement: accepted }, 's1'],
    ['accepted, introduced', { statement: accepted, finding: introduced }, 'counts'],
    ['accepted, malicious', { statement: accepted, finding: { malicious: true } }, 'counts'],
    ['accepted, known to be exploited', { statement: accepted, finding: { kev: true } }, 'counts'],
    // The same vulnerability by another id.
    ['named by its own id', { statement: { vulnerability: 'DEBIAN-CVE-1' } }, 's1'],
    ['named by the CVE upstream', { statement: { vulnerability: 'CVE-1' } }, 's1'],
    [
      'named by a GHSA alias',
      { statement: { vulnerability: 'GHSA-1' }, finding: { names: ['PYSEC-1', 'GHSA-1'] } },
      's1',
    ],
    ['another CVE', { statement: { vulnerability: 'CVE-2' } }, 'counts'],
    ['a CVE that begins alike', { statement: { vulnerability: 'CVE-' } }, 'counts'],
    ['in other case', { statement: { vulnerability: 'cve-1' } }, 'counts'],
    ['one CVE of an advisory about several', { finding: { id: 'DSA-1', names: ['DSA-1'] } }, 'counts'],
    ['an alias that is shown only', { finding: { id: 'X', names: ['X'], aliases: ['CVE-1'] } }, 'counts'],
    // Package and version.
    ['another package', { statement: { package: 'zlib1g-dev' } }, 'counts'],
    ['a package that begins alike', { statement: { package: 'zlib' } }, 'counts'],
    ['another version', { statement: { versions: ['1.2.14'] } }, 'counts'],
    ['a version that begins alike', { statement: { versions: ['1.2.13-1'] } }, 'counts'],
    ['one of several versions', { statement: { versions: ['1.2.12', '1.2.13'] } }, 's1'],
    ['no version', { statement: { versions: [] } }, 'counts'],
    // Ecosystem and distribution.
    ['another ecosystem', { statement: { ...npm } }, 'counts'],
    ['the package of another distribution', { statement: { distribution: 'ubuntu' } }, 'counts'],
    ['a host of another distribution', { host: { distribution: 'ubuntu' } }, 'counts'],
    ['a host of unknown distribution', { host: { distribution: null } }, 'counts'],
    ['apt without a distribution', { statement: { distribution: null } }, 'counts'],
    [
      'neither knows a distribution',
      { statement: { distribution: null }, host: { distribution: null } },
      'counts',
    ],
    ['npm on any distribution', { statement: npm, host: { ...npm, distribution: 'ubuntu' } }, 's1'],
    [
      'PyPI names in their normal form',
      {
        statement: { ...npm, ecosystem: 'pypi', package: 'a-b' },
        finding: { package: 'A_b' },
        host: { ecosystem: 'pypi' },
      },
      's1',
    ],
    // Scope.
    ['scope: its group', { statement: { scope: { kind: 'group', group: 'web' } } }, 's1'],
    ['scope: another group', { statement: { scope: { kind: 'group', group: 'db' } } }, 'counts'],
    [
      'scope: a group, the host has none',
      {
        statement: { scope: { kind: 'group', group: 'web' } },
        host: { group: null },
      },
      'counts',
    ],
    ['scope: this host', { statement: { scope: { kind: 'host', agent_id: 'host-1' } } }, 's1'],
    ['scope: another host', { statement: { scope: { kind: 'host', agent_id: 'host-2' } } }, 'counts'],
    // Time.
    ['one millisecond before its end', { statement: { endsAtMs: NOW_MS + 1 } }, 's1'],
    ['at its end', { statement: { endsAtMs: NOW_MS } }, 'counts'],
    ['after its end', { statement: { endsAtMs: NOW_MS - 1 } }, 'counts'],
    ['revoked', { statement: { endedAtMs: NOW_MS - 1 } }, 'counts'],
    [
      'revoked before its end, in the future of a clock that was set back',
      {
        statement: { endedAtMs: NOW_MS + 1_000 },
      },
      'counts',
    ],
    // A8: by the vendor's word only.
    ['the sweep, not_affected', { by: 'sweep' }, 'counts'],
    ['the sweep, accepted', { by: 'sweep', statement: accepted }, 'counts'],
    [
      'the sweep, unimportant',
      { by: 'sweep', statement: null, finding: { vendor: DEBIAN } },
      'debian: unimportant',
    ],
    // The vendor.
    ['unimportant', { statement: null, finding: { vendor: DEBIAN } }, 'debian: unimportant'],
    [
      'unimportant, introduced',
      { statement: null, finding: { vendor: DEBIAN, ...introduced } },
      'debian: unimportant',
    ],
    ['unimportant, malicious', { statement: null, finding: { vendor: DEBIAN, malicious: true } }, 'counts'],
    ['unimportant, exploited', { statement: null, finding: { vendor: DEBIAN, kev: true } }, 'counts'],
    [
      'unimportant, the policy blocks',
      {
        ...{ statement: null, finding: { vendor: DEBIAN }, policy: { unimportant: 'block' } },
      },
      'counts',
    ],
    [
      'unimportant, the policy blocks, and a statement',
      {
        ...{ finding: { vendor: DEBIAN }, policy: { unimportant: 'block' } },
      },
      's1',
    ],
    [
      'unimportant and a statement: the statement is not used',
      { finding: { vendor: DEBIAN } },
      'debian: unimportant',
    ],
    [
      'ignored by Debian',
      { statement: null, finding: { vendor: { by: 'debian', status: 'ignored' } } },
      'counts',
    ],
    [
      'unimportant, says Ubuntu',
      { statement: null, finding: { vendor: { by: 'ubuntu', status: 'unimportant' } } },
      'counts',
    ],
  ])('%s', (_what, given, expected) => {
    expect(outcome(given)).toBe(expected);
  });

  test('of two statements not_affected counts, of equal ones the oldest', () => {
    const risk = { ...STATEMENT, ...accepted, id: 's0' };
    const later = { ...STATEMENT, id: 's2' };
    expect(excuse([FINDING], [risk, later, STATEMENT], {})).toBe('s1');
    expect(excuse([FINDING], [risk, { ...later, endedAtMs: 1 }], {})).toBe('s0');
    expect(excuse([{ ...FINDING, ...introduced }], [risk, { ...later, endedAtMs: 1 }], {})).toBe('counts');
  });

  test('a risk is accepted only where it is known not to be exploited', () => {
    const { kev: _, ...unknown } = FINDING;
    expect(excuse([unknown], [{ ...STATEMENT, ...accepted }], {})).toBe('counts');
    expect(excuse([unknown], [STATEMENT], {})).toBe('s1');
  });

  test('one statement excuses only its finding', () => {
    const other = { ...FINDING, id: 'CVE-2', names: ['CVE-2'] };
    expect(excuse([FINDING, other], [STATEMENT], {})).toBe('s1, counts');
    expect(excuse([other, FINDING], [STATEMENT], {})).toBe('counts, s1');
  });

  test('A6: statements excuse at most a hundred findings of one closure; with more they excuse none', () => {
    const many = (count: number) => Array.from({ length: count }, () => ({ ...FINDING }));
    expect(excuse(many(STATEMENT_USES_MAX), [STATEMENT], {})).toBe('s1');
    expect(excuse(many(STATEMENT_USES_MAX + 1), [STATEMENT], {})).toBe('counts');
  });
});
