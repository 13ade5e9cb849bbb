import { describe, expect, test } from 'vitest';
import { endFault, type HeldPlan, type HoldInForce, heldIn } from './hold-rules.ts';

const HOLD: HoldInForce = {
  ...{ id: 'h1', ecosystems: ['apt'], packages: ['linux-*'], scope: { kind: 'all' } },
  ...{ reason: 'The driver needs it.', endsAtMs: 2_000 },
};
const plan = (...actions: HeldPlan['actions']): HeldPlan => ({
  ...{ ecosystem: 'apt', host: { id: 'a1', group: 'web', tags: ['env=prod'] }, actions },
});
const KERNEL = { name: 'linux-image-amd64', to_version: '6.1.2-1' };

describe('what a hold keeps', () => {
  test('is any package of the closure, whatever the plan does to it', () => {
    const held = heldIn(
      [HOLD],
      plan({ name: 'demo', to_version: '2' }, KERNEL, { name: 'linux-image-6.1.0-1-amd64' }),
    );
    expect(held).toEqual([
      {
        ...{ package: 'linux-image-amd64', version: '6.1.2-1', holdId: 'h1' },
        ...{ reason: 'The driver needs it.', endsAtMs: 2_000 },
      },
      expect.objectContaining({ package: 'linux-image-6.1.0-1-amd64', version: null }),
    ]);
  });

  test.each<[string, Partial<HoldInForce>, number]>([
    ['another ecosystem', { ecosystems: ['dnf', 'npm'] }, 0],
    ['one of several ecosystems', { ecosystems: ['dnf', 'apt'] }, 1],
    ['another package', { packages: ['linux'] }, 0],
    ['one of several patterns, in any case', { packages: ['curl', 'LINUX-image*'] }, 1],
    ['another group', { scope: { kind: 'some', groups: ['db'], hosts: [] } }, 0],
    ['its group', { scope: { kind: 'some', groups: ['web'], hosts: [] } }, 1],
    ['the host itself', { scope: { kind: 'some', groups: [], hosts: ['a1'] } }, 1],
  ])('%s: %j', (_, change, count) => {
    expect(heldIn([{ ...HOLD, ...change }], plan(KERNEL))).toHaveLength(count);
  });

  test('no spelling of a PyPI name evades it', () => {
    const hold = { ...HOLD, ecosystems: ['pypi' as const], packages: ['ruamel.yaml'] };
    const named = { ...plan({ name: 'Ruamel_YAML', to_version: '2' }), ecosystem: 'pypi' as const };
    expect(heldIn([hold], named)).toHaveLength(1);
  });

  test('of several holds of a package the one that ends last is named, in any order', () => {
    const longer = { ...HOLD, id: 'h2', endsAtMs: 3_000 };
    for (const holds of [
      [HOLD, longer],
      [longer, HOLD],
    ]) {
      expect(heldIn(holds, plan(KERNEL))).toMatchObject([{ holdId: 'h2' }]);
    }
  });
});

test.each([
  ['2026-11-21T09:00:00Z', false],
  ['2026-11-21T09:00:01Z', true],
  ['2027-11-21T09:00:00Z', true],
  ['2027-11-21T09:00:01Z', false],
])('a hold until %s is allowed: %s', (ends_at, isAllowed) => {
  expect(endFault({ ends_at }, Date.parse('2026-11-21T09:00:00Z')) === null).toBe(isAllowed);
});
