import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { HoldInForce } from '../holds/hold-rules.ts';
import { heldBackView, heldOfHost, NOTHING_HELD } from './held-rules.ts';

const hold = (id: string, change: Partial<HoldInForce> = {}): HoldInForce => ({
  ...{ id, ecosystems: ['apt'], packages: ['openssl'], scope: { kind: 'all' }, reason: 'r', endsAtMs: 2_000 },
  ...change,
});
const apt = (name: string, isSecurity = false) => ({ ecosystem: 'apt' as const, name, isSecurity });

test('an update that two holds name counts once in the sum, and in each of them', () => {
  const late = hold('late', { packages: ['open*', 'curl'], endsAtMs: 9_000 });
  const { held, holds } = heldOfHost([late, hold('soon')], [apt('openssl', true), apt('curl'), apt('vim')]);
  expect(held).toEqual({ updates: 2, securityUpdates: 1, ends: { firstMs: 2_000, lastMs: 9_000 } });
  expect(holds.map((one) => [one.hold.id, one.updates, one.securityUpdates])).toEqual([
    ['soon', 1, 1],
    ['late', 2, 1],
  ]);
});

test('a hold that keeps nothing back is not named, and its end is not that of what is held', () => {
  const idle = hold('idle', { packages: ['nginx'], endsAtMs: 1 });
  const other = hold('dnf', { ecosystems: ['dnf'], endsAtMs: 1 });
  const { held, holds } = heldOfHost([idle, other, hold('one')], [apt('openssl')]);
  expect(holds.map((one) => one.hold.id)).toEqual(['one']);
  expect(held.ends).toEqual({ firstMs: 2_000, lastMs: 2_000 });
});

test('without holds nothing is kept back', () => {
  expect(heldOfHost([], [apt('openssl')])).toEqual({ held: NOTHING_HELD, holds: [] });
  expect(heldBackView(NOTHING_HELD)).toEqual({
    ...{ updates: 0, security_updates: 0, first_end: null, last_end: null },
  });
});

test('the sum is never more than what waits, nor less than what the largest hold keeps', () => {
  const name = fc.constantFrom('openssl', 'openssh', 'curl', 'vim');
  const holds = fc.array(fc.record({ packages: fc.array(fc.constantFrom('open*', '*', 'curl')) }));
  const updates = fc.array(fc.record({ name, isSecurity: fc.boolean() }), { maxLength: 12 });
  fc.assert(
    fc.property(holds, updates, (named, waiting) => {
      const { held, holds: counts } = heldOfHost(
        named.map((one, i) => hold(`${i}`, one)),
        waiting.map((one) => ({ ...one, ecosystem: 'apt' })),
      );
      expect(held.updates).toBeLessThanOrEqual(waiting.length);
      expect(held.updates).toBeGreaterThanOrEqual(Math.max(0, ...counts.map((one) => one.updates)));
      expect(held.securityUpdates).toBeLessThanOrEqual(held.updates);
    }),
  );
});
