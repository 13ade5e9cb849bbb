import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { countersign, generatePrivateKeyHex, loadSigningKey, signEnvelope } from './sign.ts';

import { loadTrustedKey, maximumSignatures, signersOf } from './verify.ts';

const TYPE = 'application/vnd.test+json';
const body = new TextEncoder().encode('{"v":1}');
const makeKey = (keyId: string) => {
  const signing = loadSigningKey({ keyId, privateKeyHex: generatePrivateKeyHex(randomBytes(32)) });
  return { signing, trusted: loadTrustedKey(signing) };
};
const [a, b, c] = [makeKey('a'), makeKey('b'), makeKey('c')];
const keys = [a.trusted, b.trusted, c.trusted];
const signed = countersign(b.signing, signEnvelope(a.signing, TYPE, body));
const [first, second] = signed.signatures;
const ids = (envelope: unknown, trusted = keys, type = TYPE) =>
  signersOf(envelope, trusted, type).map((key) => key.keyId);

test('exactly the keys that signed are found', () => {
  expect(ids(signed)).toEqual(['a', 'b']);
});

test('a countersignature changes nothing else in the envelope, and is added once', () => {
  const once = signEnvelope(a.signing, TYPE, body);
  expect({ ...signed, signatures: signed.signatures.slice(0, 1) }).toEqual(once);
  expect(countersign(b.signing, signed)).toEqual(signed);
});

test('an invalid envelope is not signed', () => {
  expect(() => countersign(a.signing, { ...signed, payload: '*' })).toThrow(RangeError);
  const full = { ...signed, signatures: Array(maximumSignatures).fill(first) };
  expect(() => countersign(c.signing, full)).toThrow(RangeError);
});

test.each<[string, unknown, string[]]>([
  ['the same signature twice is one', { ...signed, signatures: [first, first] }, ['a']],
  [
    'the same signature under another hint is one',
    { ...signed, signatures: [first, { ...first, keyid: 'b' }] },
    ['a'],
  ],
  ['a bad one beside a good one', { ...signed, signatures: [first, { ...second, sig: first?.sig }] }, ['a']],
  ['none', { ...signed, signatures: [] }, []],
  ['another payload', { ...signed, payload: Buffer.from('{"v":2}').toString('base64') }, []],
  ['no envelope', null, []],
  [
    'one signature that cannot be read spoils the envelope',
    { ...signed, signatures: [first, { sig: '!' }] },
    [],
  ],
])('%s', (_, envelope, expected) => {
  expect(ids(envelope)).toEqual(expected);
});

test('one public key under two ids counts once', () => {
  const twin = loadTrustedKey({ keyId: 'twin', publicKeyHex: a.trusted.publicKeyHex });
  expect(ids(signed, [a.trusted, twin])).toHaveLength(1);
});

test('a signature over another type does not count', () => {
  expect(ids(signed, keys, 'application/vnd.other+json')).toEqual([]);
});
