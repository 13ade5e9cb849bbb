import type { PolicyTerms } from '@tidegate/protocol/policies-api';
import { describe, expect, test } from 'vitest';
import { mismatchOf, type PolicySubject, tooYoung } from './policy-rules.ts';

const HOUR_MS = 3_600_000;
const TERMS: PolicyTerms = {
  ...{ ecosystems: ['apt', 'npm'], packages: ['*'], except_packages: [], origins: [], security_only: false },
  ...{ minimum_severity: null, max_change: 'any', min_age_hours: null, remaining_vulnerabilities: 'ask' },
};
const APT: PolicySubject = {
  ...{ ecosystem: 'apt', name: 'openssl', origin: 'Debian:12/stable-security', security: true },
  ...{ fixes: ['high'], change: null },
};
const NPM: PolicySubject = {
  ...{ ecosystem: 'npm', name: 'left-pad', origin: null, security: false, fixes: [], change: 'minor' },
};

describe('an update meets the terms of a policy, or the first condition that it does not meet is named', () => {
  test.each<[string, Partial<PolicyTerms>, PolicySubject, string | null]>([
    ['everything of its ecosystems', {}, APT, null],
    ['another ecosystem', { ecosystems: ['npm'] }, APT, 'ecosystem'],
    ['a name', { packages: ['openssl'] }, APT, null],
    ['a name that begins like it', { packages: ['open'] }, APT, 'package'],
    ['one of several patterns', { packages: ['nginx', 'open*'] }, APT, null],
    ['in another case', { packages: ['OPENSSL'] }, APT, null],
    ['PyPI in another spelling', { ecosystems: ['pypi'], packages: ['Flask_*'] }, pypi('flask-login'), null],
    ['an exception wins', { packages: ['*'], except_packages: ['open*'] }, APT, 'excepted'],
    ['PyPI cannot evade it', { ecosystems: ['pypi'], except_packages: ['a.b'] }, pypi('A_B'), 'excepted'],
    ['an origin', { origins: ['Debian:12/stable-security'] }, APT, null],
    ['an origin by pattern', { origins: ['Debian:*-security'] }, APT, null],
    ['another origin', { origins: ['Docker*'] }, APT, 'origin'],
    ['an origin that is not known', { origins: ['*'] }, { ...APT, origin: null }, 'origin'],
    ['security by the distribution', { security_only: true }, { ...APT, fixes: [] }, null],
    ['security by what it fixes', { security_only: true }, { ...APT, security: false, fixes: [null] }, null],
    ['no security', { security_only: true }, { ...APT, security: false, fixes: [] }, 'not_security'],
    ['fixes not known', { security_only: true }, { ...APT, security: false, fixes: null }, 'not_security'],
    ['the severity', { minimum_severity: 'high' }, APT, null],
    ['a higher severity', { minimum_severity: 'low' }, APT, null],
    ['a lower severity', { minimum_severity: 'critical' }, APT, 'severity'],
    ['the highest counts', { minimum_severity: 'high' }, { ...APT, fixes: ['low', 'critical'] }, null],
    ['a severity that is not known', { minimum_severity: 'low' }, { ...APT, fixes: [null] }, 'severity'],
    ['a severity of no name', { minimum_severity: 'low' }, { ...APT, fixes: ['none'] }, 'severity'],
    ['nothing that it fixes', { minimum_severity: 'low' }, { ...APT, fixes: [] }, 'severity'],
    ['what it fixes is not known', { minimum_severity: 'low' }, { ...APT, fixes: null }, 'severity'],
    ['a change within', { max_change: 'minor' }, NPM, null],
    ['a greater change', { max_change: 'patch' }, NPM, 'change'],
    ['a change that is not known', { max_change: 'minor' }, { ...NPM, change: null }, 'change'],
    ['any change, known or not', { max_change: 'any' }, { ...NPM, change: null }, null],
    ['apt has no such changes', { max_change: 'patch' }, APT, null],
  ])('%s', (_, terms, subject, expected) => {
    expect(mismatchOf({ ...TERMS, ...terms }, subject)).toBe(expected);
  });
});

function pypi(name: string): PolicySubject {
  return { ...NPM, ecosystem: 'pypi', name, change: 'patch' };
}

describe('the least age of what an update brings', () => {
  const nowMs = Date.UTC(2026, 10, 24);
  const brought = (sinceMs: number | null) => [{ package: 'a', version: '1', sinceMs }];
  test.each<[string, number | null, number | null, number]>([
    ['no age is asked for', null, null, 0],
    ['exactly as old', 24, nowMs - 24 * HOUR_MS, 0],
    ['a moment too young', 24, nowMs - 24 * HOUR_MS + 1, 1],
    ['not known', 24, null, 1],
    ['from the future', 24, nowMs + HOUR_MS, 1],
  ])('%s', (_, hours, sinceMs, young) => {
    expect(tooYoung({ min_age_hours: hours }, brought(sinceMs), nowMs)).toHaveLength(young);
  });

  test('every version counts, and those that are too young are named', () => {
    const old = { package: 'old', version: '1', sinceMs: nowMs - 48 * HOUR_MS };
    const young = { package: 'young', version: '2', sinceMs: nowMs - HOUR_MS };
    expect(tooYoung({ min_age_hours: 24 }, [old, young, old], nowMs)).toEqual([young]);
  });
});
