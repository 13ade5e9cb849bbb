import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createFleet, createKey, type KeySetContent, NOW_MS, revoked } from '../testing/fleet.ts';
import { acceptKeySet, activeKeys, pinKeySet } from './trusted-keys.ts';

const fleet = createFleet();
const one = fleet.key;
const two = createKey(2);
const three = createKey(3);
const trusted = { ...fleet.trusted, version: 5, keys: [one.entry, two.entry] };

function accept(content: KeySetContent, current = trusted) {
  const outcome = acceptKeySet(current, { envelope: fleet.keySet(content), roots: [], nowMs: NOW_MS });
  return outcome.ok ? activeKeys(outcome.keys).map((key) => key.keyId) : outcome.reason;
}

describe('a fetched key set (E8, design reading 11)', () => {
  test('brings a new key when a trusted key vouches for it', () => {
    const keys = [one.entry, two.entry, three.entry];
    expect(accept({ version: 6, keys })).toEqual(keys.map((entry) => entry.key_id));
  });

  test('a key that only vouches for itself is refused: a row in the table is not enough', () => {
    expect(accept({ version: 6, keys: [one.entry, three.entry], signedBy: three })).toBe('not_vouched_for');
  });

  test('a revoked key vouches for nothing', () => {
    const current = { ...trusted, keys: [revoked(one.entry), two.entry] };
    const keys = [revoked(one.entry), two.entry, three.entry];
    expect(accept({ version: 6, keys, signedBy: one }, current)).toBe('not_vouched_for');
    expect(accept({ version: 6, keys, signedBy: two }, current)).toEqual([
      two.entry.key_id,
      three.entry.key_id,
    ]);
  });

  test('a revocation is applied and remembered, also when a later set no longer names the key', () => {
    const envelope = fleet.keySet({ version: 6, keys: [revoked(one.entry), two.entry], signedBy: two });
    const first = acceptKeySet(trusted, { envelope, roots: [], nowMs: NOW_MS });
    if (!first.ok) throw new Error(first.reason);
    expect(activeKeys(first.keys).map((key) => key.keyId)).toEqual([two.entry.key_id]);
    const without = fleet.keySet({ version: 7, keys: [two.entry], signedBy: two });
    const later = acceptKeySet(first.keys, { envelope: without, roots: [], nowMs: NOW_MS });
    if (!later.ok) throw new Error(later.reason);
    expect(accept({ version: 8, keys: [one.entry, two.entry], signedBy: two }, later.keys)).toBe(
      'revocation_undone',
    );
  });

  test('an omitted key is not trusted', () => {
    expect(accept({ version: 6, keys: [two.entry] })).toEqual([two.entry.key_id]);
  });

  test.each<[string, KeySetContent]>([
    ['not_newer', { version: 5, keys: [one.entry] }],
    ['not_newer', { version: 4, keys: [one.entry] }],
    ['expired', { version: 6, keys: [one.entry], expiresMs: NOW_MS }],
    ['wrong_fleet', { version: 6, keys: [one.entry], fleetId: randomUUID() }],
    ['key_changed', { version: 6, keys: [{ ...one.entry, public_key_hex: three.entry.public_key_hex }] }],
    ['unusable_key', { version: 6, keys: [one.entry, { ...three.entry, public_key_hex: '00'.repeat(32) }] }],
    ['no_active_key', { version: 6, keys: [revoked(one.entry)] }],
    ['malformed', { version: 6, keys: [one.entry, one.entry] }],
  ])('%s', (reason, content) => {
    expect(accept(content)).toBe(reason);
  });

  test('a revoked key does not come back under a new id', () => {
    const current = { ...trusted, keys: [revoked(one.entry), two.entry] };
    const again = { ...one.entry, key_id: randomUUID(), version: 9 };
    expect(accept({ version: 6, keys: [two.entry, again], signedBy: two }, current)).toBe(
      'revocation_undone',
    );
  });
});

describe('the first key set, at enrolment', () => {
  const pin = (envelope: unknown) => pinKeySet(envelope, { root: undefined, nowMs: NOW_MS });

  test('is pinned when one of its own active keys signed it', () => {
    const pinned = pin(fleet.keySet({ version: 3, keys: [one.entry, two.entry] }));
    expect(pinned).toMatchObject({ ok: true, keys: { version: 3, fleet_id: fleet.fleetId } });
  });

  test.each<[string, KeySetContent]>([
    ['not_vouched_for', { version: 1, keys: [two.entry] }],
    ['not_vouched_for', { version: 1, keys: [revoked(one.entry), two.entry] }],
    ['expired', { version: 1, keys: [one.entry], expiresMs: NOW_MS }],
  ])('%s', (reason, content) => {
    expect(pin(fleet.keySet(content))).toEqual({ ok: false, reason });
  });

  test.each([[null], ['x'], [{ payload: 'e30=' }], [{}]])('%o is malformed', (value) => {
    expect(pin(value)).toEqual({ ok: false, reason: 'malformed' });
  });
});
