import { expect, test } from 'vitest';
import { hostsOf, requestOf } from './hold-rules.ts';

test('a form becomes a request: patterns by line or comma, once, and the end of the day', () => {
  const form = { packages: ' linux-* \nnvidia-*, linux-*\n\n', reason: ' the driver ', endsOn: '2027-03-01' };
  expect(requestOf({ ...form, ecosystem: 'apt', scope: { kind: 'group', group: 'gpu' } })).toEqual({
    ecosystems: ['apt'],
    packages: ['linux-*', 'nvidia-*'],
    scope: { kind: 'some', groups: ['gpu'], hosts: [] },
    reason: 'the driver',
    ends_at: '2027-03-01T23:59:59Z',
  });
  expect(requestOf({ ...form, ecosystem: null, scope: { kind: 'all' } })).toMatchObject({
    ecosystems: ['npm', 'pypi', 'apt', 'dnf', 'tidegate'],
    scope: { kind: 'all' },
  });
});

test('a single host is named by its id', () => {
  expect(hostsOf({ kind: 'tag', tag: 'gpu=yes' })).toEqual({
    ...{ kind: 'some', groups: [], hosts: [], tags: ['gpu=yes'] },
  });
});
