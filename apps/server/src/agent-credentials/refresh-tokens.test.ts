import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  formRefreshToken,
  hashRefreshToken,
  isGenuine,
  parseRefreshToken,
  refreshTagKey,
  sameHash,
} from './refresh-tokens.ts';
import { openChild, sealChild } from './sealed-child.ts';

const tagKey = refreshTagKey(Buffer.alloc(32, 1));
const familyId = '01900000-0000-7000-8000-000000000001';
const good = formRefreshToken(tagKey, { familyId, seq: 3, secret: Buffer.alloc(32, 9) });
const secrets = fc.uint8Array({ minLength: 32, maxLength: 32 });

describe('the format of a refresh token (R2)', () => {
  test('a formed token parses, is genuine and passes the request schema', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.integer({ min: 1, max: 1e12 }), secrets, (id, seq, bytes) => {
        const text = formRefreshToken(tagKey, { familyId: id, seq, secret: Buffer.from(bytes) });
        const parsed = parseRefreshToken(text);
        expect(parsed).toMatchObject({ text, familyId: id, seq });
        expect(parsed && isGenuine(tagKey, parsed)).toBe(true);
        expect(parsed && isGenuine(refreshTagKey(Buffer.alloc(32, 2)), parsed)).toBe(false);
        expect(text.length).toBeLessThan(160);
      }),
    );
  });

  test('one changed character makes it malformed or not genuine, and changes the hash', () => {
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.constantFrom('A', '0', '.', '-', 'z', 'é'), (at, c) => {
        fc.pre(good[at] !== c);
        const text = good.slice(0, at) + c + good.slice(at + 1);
        const parsed = parseRefreshToken(text);
        expect(parsed !== null && isGenuine(tagKey, parsed)).toBe(false);
        expect(sameHash(hashRefreshToken(text), hashRefreshToken(good))).toBe(false);
      }),
    );
  });

  test('the tag covers the secret: it does not verify with another secret', () => {
    const other = formRefreshToken(tagKey, { familyId, seq: 3, secret: Buffer.alloc(32, 8) });
    const mixed = good.slice(0, good.lastIndexOf('.')) + other.slice(other.lastIndexOf('.'));
    const parsed = parseRefreshToken(mixed);
    expect(parsed && isGenuine(tagKey, parsed)).toBe(false);
  });

  test.each([
    ['nothing', ''],
    ['an access token', 'eyJhbGciOiJIUzI1NiJ9.e30.AAAA'],
    ['a registration token', `tgr_${'A'.repeat(43)}`],
    ['another version', good.replace('rt1', 'rt2')],
    ['seq 0', good.replace('.3.', '.0.')],
    ['a seq with a leading zero', good.replace('.3.', '.03.')],
    ['a seq beyond the safe integers', good.replace('.3.', '.9999999999999999.')],
    ['a family in upper case', good.replace('01900000', '0190000A')],
    ['a line end after it', `${good}\n`],
    ['white space before it', ` ${good}`],
    ['no tag', good.slice(0, good.lastIndexOf('.'))],
    ['a part too many', `${good}.AAAA`],
  ])('%s is no refresh token', (_, text) => {
    expect(parseRefreshToken(text)).toBeNull();
  });

  test('a missing hash equals nothing', () => {
    expect(sameHash(hashRefreshToken(good), null)).toBe(false);
    expect(sameHash(hashRefreshToken(good), '')).toBe(false);
    expect(sameHash(hashRefreshToken(good), hashRefreshToken(good))).toBe(true);
  });
});

describe('a sealed child', () => {
  const random = (size: number) => Buffer.alloc(size, 5);
  const sealed = sealChild('the child', { parentSecret: 'parent', familyId, random });

  test('opens only under the secret of its parent, and reveals nothing without it', () => {
    expect(openChild(sealed, { parentSecret: 'parent', familyId })).toBe('the child');
    expect(openChild(sealed, { parentSecret: 'other', familyId })).toBeNull();
    expect(openChild(sealed, { parentSecret: 'parent', familyId: 'other' })).toBeNull();
    expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('child');
  });

  test('does not open when a bit of it was changed or when it was truncated', () => {
    const bytes = Buffer.from(sealed, 'base64url');
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      expect(openChild(changed.toString('base64url'), { parentSecret: 'parent', familyId })).toBeNull();
      expect(
        openChild(bytes.subarray(0, at).toString('base64url'), { parentSecret: 'parent', familyId }),
      ).toBeNull();
    }
  });
});
