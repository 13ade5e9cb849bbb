import { execFileSync } from 'node:child_process';
import { createPrivateKey, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, onTestFinished, test } from 'vitest';
import { preAuthenticationEncoding } from './dsse.ts';
import { generatePrivateKeyHex, loadSigningKey, signDetached, signEnvelope } from './sign.ts';
import { loadTrustedKey, publicKeyPem, verifyDetached } from './verify.ts';

const seed = new Uint8Array(32).fill(7);
const privateKeyHex = generatePrivateKeyHex(seed);
const key = loadSigningKey({ keyId: 'release', privateKeyHex });
const trusted = loadTrustedKey(key);
const bytes = Buffer.from(`${'a'.repeat(64)}  tidegate.deb\n`);

test('a detached signature verifies over its own bytes alone', () => {
  const signature = signDetached(key, bytes);
  expect(verifyDetached(trusted, bytes, signature)).toBe(true);
  expect(verifyDetached(trusted, Buffer.concat([bytes, bytes]), signature)).toBe(false);
  expect(verifyDetached(trusted, bytes, signature.subarray(1))).toBe(false);
  const other = loadSigningKey({
    keyId: 'x',
    privateKeyHex: generatePrivateKeyHex(new Uint8Array(32).fill(8)),
  });
  expect(verifyDetached(loadTrustedKey(other), bytes, signature)).toBe(false);
});

test('the signature of an envelope is none of a file, and the reverse', () => {
  const type = 'application/vnd.tidegate.release.v1+json';
  const encoded = preAuthenticationEncoding(type, bytes);
  const [first] = signEnvelope(key, type, bytes).signatures;
  expect(verifyDetached(trusted, encoded, Buffer.from(first?.sig ?? '', 'base64'))).toBe(false);
  expect(() => signDetached(key, encoded)).toThrow(RangeError);
});

test('what is no longer than a digest, which OpenPGP signs in place of the bytes, is not signed', () => {
  const digest = new Uint8Array(64).fill(3);
  expect(() => signDetached(key, digest)).toThrow(RangeError);
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
  const signature = sign(null, digest, createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }));
  expect(verifyDetached(trusted, digest, signature)).toBe(false);
  const longer = new Uint8Array(65).fill(3);
  expect(verifyDetached(trusted, longer, signDetached(key, longer))).toBe(true);
});

test('OpenSSL verifies it with the PEM of the key', () => {
  const folder = tmpDir('tidegate-detached-');
  onTestFinished(() => folder.remove());
  const file = (name: string) => join(folder.path, name);
  writeFileSync(file('key.pem'), publicKeyPem(trusted));
  writeFileSync(file('SHA256SUMS'), bytes);
  writeFileSync(file('SHA256SUMS.sig'), signDetached(key, bytes));
  const verify = [
    'pkeyutl',
    '-verify',
    '-pubin',
    '-inkey',
    file('key.pem'),
    '-rawin',
    '-in',
    file('SHA256SUMS'),
  ];
  const openssl = () =>
    execFileSync('openssl', [...verify, '-sigfile', file('SHA256SUMS.sig')], { encoding: 'utf8' });
  expect(openssl()).toContain('Signature Verified Successfully');
  writeFileSync(file('SHA256SUMS'), 'other');
  expect(openssl).toThrow();
});
