import fc from 'fast-check';
import { expect, test } from 'vitest';
import { secretsIn } from './secret-forms.ts';

const SECRET = 'correct horse battery';
const TOKEN = Buffer.from('0123456789abcdef0123456789abcdef').toString('base64url');
const SEED = 'ab01'.repeat(16);
const secrets = new Map([
  ['password', SECRET],
  ['token', TOKEN],
  ['seed', SEED],
]);

test.each<[string, (bytes: Buffer) => Buffer]>([
  ['as it is', (bytes) => bytes],
  ['as hex', (bytes) => Buffer.from(bytes.toString('hex'))],
  ['as HEX', (bytes) => Buffer.from(bytes.toString('hex').toUpperCase())],
  ['as base64', (bytes) => Buffer.from(bytes.toString('base64'))],
  ['as base64url', (bytes) => Buffer.from(bytes.toString('base64url'))],
])('a secret is found %s, at any position', (_, write) => {
  const around = fc.tuple(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ maxLength: 40 }));
  fc.assert(
    fc.property(around, ([before, behind]) => {
      const inside = (source: Buffer) => secretsIn(write(Buffer.concat([before, source, behind])), secrets);
      expect(inside(Buffer.from(SECRET))).toContain('password');
      expect(inside(Buffer.from(TOKEN))).toContain('token');
      expect(inside(Buffer.from(TOKEN, 'base64url'))).toContain('token');
      expect(inside(Buffer.from(SEED, 'hex'))).toContain('seed');
      expect(inside(Buffer.from('nothing to see here at all'))).toEqual([]);
    }),
  );
});
