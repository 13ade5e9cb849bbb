import type { PlanAction } from '@tidegate/protocol/plan';
import { describe, expect, test } from 'vitest';
import { ageKey, timeKey } from '../release-times/subjects.ts';
import { ageFacts, ageSubjects } from './age-rules.ts';

const HOUR_MS = 3_600_000;
const NOW_MS = 1_000 * HOUR_MS;
const subject = { ecosystem: 'npm' as const, name: 'left', version: '1.0.0', artifact: null };

function judge(released: number | null | undefined, fields: Partial<Parameters<typeof ageFacts>[0]> = {}) {
  return ageFacts({
    ecosystem: 'npm',
    mode: 'block',
    subjects: [subject],
    released: new Map(
      released === undefined ? [] : [[timeKey(subject), { atMs: released, source: 'registry' }]],
    ),
    exceptions: new Set(),
    source: 'judged',
    nowMs: NOW_MS,
    minimumHours: 72,
    ...fields,
  });
}

describe('the age of a version (A7)', () => {
  test.each([
    ['older', NOW_MS - 73 * HOUR_MS, 'ok'],
    ['as old as the minimum', NOW_MS - 72 * HOUR_MS, 'ok'],
    ['a millisecond younger', NOW_MS - 72 * HOUR_MS + 1, 'violation'],
    ['just released', NOW_MS, 'violation'],
    ['released in the future', NOW_MS + 1, 'unknown_age'],
    ['without a time', null, 'unknown_age'],
    ['with an invalid time', Number.NaN, 'unknown_age'],
    ['never fetched', undefined, 'unknown_age'],
  ])('%s', (_what, released, status) => {
    expect(judge(released)).toMatchObject({ status, pending: false });
  });

  test('a time still being fetched is pending, not unknown', () => {
    expect(judge(undefined, { source: 'pending' })).toMatchObject({ violations: [], pending: true });
  });

  test('a failed fetch is a violation in block and fails open in warn', () => {
    expect(judge(undefined, { source: 'unreachable' }).violations).toHaveLength(1);
    expect(judge(undefined, { source: 'unreachable', mode: 'warn' }).violations).toHaveLength(0);
    expect(judge(null, { mode: 'warn' }).status).toBe('unknown_age');
  });

  test('an exception is for exactly name@version', () => {
    const excepted = new Set([ageKey(subject)]);
    expect(judge(NOW_MS, { exceptions: excepted }).status).toBe('ok');
    const other = { ...subject, version: '1.0.1' };
    expect(judge(NOW_MS, { exceptions: excepted, subjects: [other] }).status).toBe('unknown_age');
  });

  test.each(['apt', 'dnf'] as const)('%s has no release times: the gate does not apply', (ecosystem) => {
    expect(judge(NOW_MS, { ecosystem }).status).toBe('not_applicable');
  });

  test('off ignores ages', () => {
    expect(judge(NOW_MS, { mode: 'off' })).toMatchObject({ status: 'off', violations: [] });
  });
});

test('every version that is new to the host is judged, in the closure too; removals and present ones are not', () => {
  const actions: PlanAction[] = [
    { action: 'upgrade', name: 'Top_Package', from_version: '1', to_version: '2' },
    { action: 'install', name: 'new', to_version: '3' },
    { action: 'install', name: 'present', to_version: '4' },
    { action: 'remove', name: 'gone' },
  ];
  const installed = [
    { name: 'top-package', version: '1' },
    { name: 'Present', version: '4' },
  ];
  expect(ageSubjects({ ecosystem: 'pypi', actions, installed }).map(({ name }) => name)).toEqual([
    'top-package',
    'new',
  ]);
  expect(ageSubjects({ ecosystem: 'apt', actions, installed })).toEqual([]);
});

test('a package in the file of another one of the plan is no separate subject; one that only claims so is (A7)', () => {
  const artifact = { filename: 'kit.tgz', url: 'https://r.test/kit', size_bytes: 1, sha512: 'a'.repeat(128) };
  const kit: PlanAction = { action: 'upgrade', name: 'kit', to_version: '2', artifact };
  const inner: PlanAction = { ...kit, name: 'inner', source_name: 'kit', source_version: '2' };
  const named = (ecosystem: 'npm' | 'pypi', actions: PlanAction[]) =>
    ageSubjects({ ecosystem, actions, installed: [] }).map(({ name }) => name);
  expect(named('npm', [inner, kit])).toEqual(['kit']);
  expect(named('npm', [inner])).toEqual(['inner']);
  const other = { ...inner, artifact: { ...artifact, sha512: 'b'.repeat(128) } };
  expect(named('npm', [other, kit])).toEqual(['inner', 'kit']);
  expect(named('pypi', [inner, kit])).toEqual(['inner', 'kit']);
});
