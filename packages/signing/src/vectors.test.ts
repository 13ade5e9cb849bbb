import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { decodeBase64 } from './base64.ts';
import { preAuthenticationEncoding } from './dsse.ts';
import { isSignatureOf, privateKeyFromSeed, publicBytesOf, publicKeyFromBytes } from './ed25519.ts';
import { judgePublicKey } from './public-key.ts';
import { generatePrivateKeyHex, loadSigningKey } from './sign.ts';

// Third-party vectors lie beside the repository and are not part of it.
const folder = path.join(import.meta.dirname, '../../../../shared/data/vectors');
const isAbsent = !existsSync(folder);
if (isAbsent)
  console.warn('skipped: RFC 8032, RFC 8037, DSSE and Wycheproof vectors are not in ../shared/data/vectors');

type Wycheproof = {
  numberOfTests: number;
  testGroups: {
    publicKey: { pk: string };
    tests: { tcId: number; comment: string; msg: string; sig: string; result: 'valid' | 'invalid' }[];
  }[];
};
type Rfc8032 = { name: string; seed: string; public: string; msg: string; sig: string }[];
type Rfc8037 = { jwk: { d: string; x: string }; payload: string; jws: string };
type Dsse = { pae: { type: string; body: string; pae?: string; pae_hex?: string }[] };

function read(name: string): string {
  return readFileSync(path.join(folder, name), 'utf8');
}

function hex(digits: string): Uint8Array {
  return new Uint8Array(Buffer.from(digits, 'hex'));
}

describe.skipIf(isAbsent)('open vectors (../shared/data/vectors)', () => {
  test('Wycheproof: all 151 Ed25519 signatures are judged as the vectors say', () => {
    const { numberOfTests, testGroups }: Wycheproof = JSON.parse(
      read('wycheproof-ed25519/ed25519_test.json'),
    );
    const wrong: string[] = [];
    let judged = 0;
    for (const { publicKey, tests } of testGroups) {
      const bytes = hex(publicKey.pk);
      const key = judgePublicKey(bytes) === 'sound' ? publicKeyFromBytes(bytes) : null;
      for (const { tcId, comment, msg, sig, result } of tests) {
        const isValid = key !== null && isSignatureOf(hex(msg), hex(sig), key);
        judged += 1;
        if (isValid !== (result === 'valid')) wrong.push(`${tcId} ${comment}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(judged).toBe(numberOfTests);
    expect(judged).toBe(151);
  });

  test('RFC 8032 section 7.1: seeds give these public keys and signatures', () => {
    const vectors: Rfc8032 = JSON.parse(read('rfc8032-rfc8037/rfc8032.json'));
    expect(vectors.length).toBe(4);
    for (const vector of vectors) {
      const privateKeyHex = generatePrivateKeyHex(hex(vector.seed));
      expect(privateKeyHex, vector.name).toBe(vector.seed + vector.public);
      expect(loadSigningKey({ keyId: 'k', privateKeyHex }).publicKeyHex).toBe(vector.public);
      const key = publicKeyFromBytes(hex(vector.public));
      expect(isSignatureOf(hex(vector.msg), hex(vector.sig), key), vector.name).toBe(true);
    }
  });

  test('RFC 8037 appendix A: the JWK and its JWS', () => {
    const { jwk, payload, jws }: Rfc8037 = JSON.parse(read('rfc8032-rfc8037/rfc8037.json'));
    const [header = '', body = '', signature = ''] = jws.split('.');
    const publicBytes = publicBytesOf(privateKeyFromSeed(decodeBase64(jwk.d) ?? new Uint8Array()));
    expect(decodeBase64(jwk.x)).toEqual(publicBytes);
    expect(decodeBase64(body)).toEqual(new TextEncoder().encode(payload));
    const signed = new TextEncoder().encode(`${header}.${body}`);
    const key = publicKeyFromBytes(publicBytes);
    expect(isSignatureOf(signed, decodeBase64(signature) ?? new Uint8Array(), key)).toBe(true);
  });

  test('DSSE v1: pre-authentication encoding, lengths in bytes', () => {
    const { pae }: Dsse = JSON.parse(read('dsse/vectors.json'));
    expect(pae.length).toBe(3);
    for (const vector of pae) {
      const expected =
        vector.pae === undefined ? hex(vector.pae_hex ?? '') : new TextEncoder().encode(vector.pae);
      expect(preAuthenticationEncoding(vector.type, new TextEncoder().encode(vector.body))).toEqual(expected);
    }
  });
});
