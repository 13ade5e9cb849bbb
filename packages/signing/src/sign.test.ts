import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { maximumPayloadBytes } from './dsse.ts';
import { generatePrivateKeyHex, loadSigningKey, signEnvelope } from './sign.ts';
import { KeyError, loadTrustedKey, verifyEnvelope } from './verify.ts';

const type = 'application/vnd.tidegate.command.v1+json';
const privateKeyHex = generatePrivateKeyHex(new Uint8Array(32).fill(7));
const seedHex = privateKeyHex.slice(0, 64);
const publicKeyHex = privateKeyHex.slice(64);
const foreignPublicHex = generatePrivateKeyHex(new Uint8Array(32).fill(8)).slice(64);

function codeOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return error instanceof KeyError ? error.code : `not a KeyError: ${error}`;
  }
  return 'accepted';
}

test('a private key is seed then public key, 128 hex digits (R4)', () => {
  expect(privateKeyHex).toMatch(/^[0-9a-f]{128}$/);
  expect(seedHex).toBe('07'.repeat(32));
  expect(loadSigningKey({ keyId: 'k', privateKeyHex }).publicKeyHex).toBe(publicKeyHex);
});

test('hex digits of either case make the same key', () => {
  const key = loadSigningKey({ keyId: 'k', privateKeyHex: privateKeyHex.toUpperCase() });
  expect(key.publicKeyHex).toBe(publicKeyHex);
  expect(loadTrustedKey({ keyId: 'k', publicKeyHex: publicKeyHex.toUpperCase() }).publicKeyHex).toBe(
    publicKeyHex,
  );
});

test.each([
  ['malformed', 'empty', ''],
  ['malformed', 'a seed alone', seedHex],
  ['malformed', 'one digit short', privateKeyHex.slice(1)],
  ['malformed', 'one digit long', `${privateKeyHex}0`],
  ['malformed', 'a digit that is none', `${privateKeyHex.slice(0, -1)}g`],
  ['malformed', 'a prefix', `0x${privateKeyHex.slice(2)}`],
  ['malformed', 'a line break at the end', `${privateKeyHex.slice(0, -1)}\n`],
  ['mismatch', 'the public half of another key', seedHex + foreignPublicHex],
  ['mismatch', 'the seed twice', seedHex + seedHex],
  ['mismatch', 'halves exchanged', publicKeyHex + seedHex],
  ['mismatch', 'a zero public half', seedHex + '00'.repeat(32)],
  ['mismatch', 'a changed bit', `${privateKeyHex.slice(0, -1)}${privateKeyHex.endsWith('0') ? '1' : '0'}`],
  ['weak', 'all zero', '00'.repeat(64)],
])('loading refuses as %s: %s (R4)', (code, _what, hex) => {
  expect(codeOf(() => loadSigningKey({ keyId: 'k', privateKeyHex: hex }))).toBe(code);
});

test('a key without an id is malformed', () => {
  expect(codeOf(() => loadSigningKey({ keyId: '', privateKeyHex }))).toBe('malformed');
});

test('making a key refuses a seed that nothing filled, or of another length', () => {
  expect(codeOf(() => generatePrivateKeyHex(new Uint8Array(32)))).toBe('weak');
  expect(codeOf(() => generatePrivateKeyHex(new Uint8Array(31).fill(1)))).toBe('malformed');
  expect(codeOf(() => generatePrivateKeyHex(new Uint8Array(64).fill(1)))).toBe('malformed');
});

test('no printed form of a signing key, and no refusal, holds the seed', () => {
  const key = loadSigningKey({ keyId: 'k', privateKeyHex });
  expect(JSON.stringify(key)).toBe(JSON.stringify({ keyId: 'k', publicKeyHex }));
  expect(inspect(key, { depth: 9, showHidden: true })).not.toContain('0707');
  try {
    loadSigningKey({ keyId: 'k', privateKeyHex: seedHex + foreignPublicHex });
  } catch (error) {
    expect(inspect(error, { depth: 9 })).not.toContain('0707');
  }
});

test('a signed payload at the limit verifies; the signer refuses one byte more', () => {
  const key = loadSigningKey({ keyId: 'k', privateKeyHex });
  const atLimit = new Uint8Array(maximumPayloadBytes).fill(32);
  const envelope = signEnvelope(key, type, atLimit);
  expect(verifyEnvelope(envelope, [loadTrustedKey({ keyId: 'k', publicKeyHex })], type).ok).toBe(true);
  expect(() => signEnvelope(key, type, new Uint8Array(maximumPayloadBytes + 1))).toThrow(RangeError);
});

test('signing is deterministic, so a redelivery has the same bytes', () => {
  const key = loadSigningKey({ keyId: 'k', privateKeyHex });
  const body = new TextEncoder().encode('{"v":1}');
  expect(signEnvelope(key, type, body)).toEqual(signEnvelope(key, type, body));
});
