import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { loadReleaseKey, parseSums, verifyRelease } from './release.ts';
import { generatePrivateKeyHex, loadSigningKey, signDetached } from './sign.ts';
import { loadTrustedKey, publicKeyPem } from './verify.ts';

const bytesOf = (text: string) => new TextEncoder().encode(text);
const SHA = 'a'.repeat(64);
const SUMS = `${SHA}  apt/dists/stable/Release\n${'b'.repeat(64)}  tidegate-agent_0.2.0_linux-x64.tar.gz\n`;

function keyPair() {
  const signing = loadSigningKey({ keyId: 'release', privateKeyHex: generatePrivateKeyHex(randomBytes(32)) });
  return { signing, trusted: loadTrustedKey({ keyId: 'release', publicKeyHex: signing.publicKeyHex }) };
}

describe('a release', () => {
  test('is what its key signed, and nothing else', () => {
    const { signing, trusted } = keyPair();
    const sums = bytesOf(SUMS);
    const signature = signDetached(signing, sums);
    const verified = verifyRelease(trusted, { sums, signature });
    expect(verified.ok && [...verified.files.keys()]).toEqual([
      'apt/dists/stable/Release',
      'tidegate-agent_0.2.0_linux-x64.tar.gz',
    ]);
    const refusal = { ok: false, reason: 'bad_signature' };
    expect(verifyRelease(keyPair().trusted, { sums, signature })).toEqual(refusal);
    const changed = sums.slice();
    changed[0] = 'c'.charCodeAt(0);
    expect(verifyRelease(trusted, { sums: changed, signature })).toEqual(refusal);
    expect(verifyRelease(trusted, { sums, signature: signature.slice(1) })).toEqual(refusal);
  });

  test('that is signed but no list is refused as such', () => {
    const { signing, trusted } = keyPair();
    const sums = bytesOf('a list of something else\n'.repeat(4));
    expect(verifyRelease(trusted, { sums, signature: signDetached(signing, sums) })).toEqual({
      ok: false,
      reason: 'malformed',
    });
  });

  test.each([
    ['no line', ''],
    ['no end of the last line', `${SHA}  a`],
    ['a file twice', `${SHA}  a\n${SHA}  a\n`],
    ['a path that leads out', `${SHA}  ../a\n`],
    ['an absolute path', `${SHA}  /a\n`],
    ['a hidden file', `${SHA}  .a\n`],
    ['an empty part', `${SHA}  a//b\n`],
    ['a binary mark', `${SHA} *a\n`],
    ['a short digest', `${SHA.slice(1)}  a\n`],
    ['capital digits', `${SHA.toUpperCase()}  a\n`],
    ['a folder above in the middle', `${SHA}  a/../../b\n`],
    ['a hidden file in a folder', `${SHA}  a/.b\n`],
    ['a backslash', `${SHA}  a\\b\n`],
    ['a carriage return', `${SHA}  a\rb\n`],
    ['a percent sign', `${SHA}  %2e%2e\n`],
    ['a space', `${SHA}  a b\n`],
    ['a name that is too long', `${SHA}  ${'a'.repeat(202)}\n`],
    ['nine folders', `${SHA}  ${Array(10).fill('a').join('/')}\n`],
    ['itself', `${SHA}  SHA256SUMS\n`],
    ['its signature', `${SHA}  SHA256SUMS.sig\n`],
    ['too many lines', Array.from({ length: 10_001 }, (_, n) => `${SHA}  f${n}\n`).join('')],
  ])('has no checksums with %s', (_, text) => {
    expect(parseSums(bytesOf(text))).toBeNull();
  });
});

describe('the release key of a host', () => {
  test('is read as `keys release make` prints it', () => {
    const { trusted } = keyPair();
    expect(loadReleaseKey(publicKeyPem(trusted)).publicKeyHex).toBe(trusted.publicKeyHex);
  });

  test('is an Ed25519 public key in PEM, and nothing else', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey;
    const secret = generateKeyPairSync('ed25519').privateKey;
    const weak = publicKeyPem(keyPair().trusted).replace(/\n.*\n/, `\n${weakKey()}\n`);
    for (const pem of [
      ...['', 'hello', publicKeyPem(keyPair().trusted).slice(0, -30)],
      rsa.export({ type: 'spki', format: 'pem' }).toString(),
      secret.export({ type: 'pkcs8', format: 'pem' }).toString(),
    ]) {
      expect(() => loadReleaseKey(pem)).toThrow('is no Ed25519 public key');
    }
    expect(() => loadReleaseKey(weak)).toThrow('small order');
  });
});

/** The all-zero key as SubjectPublicKeyInfo. */
function weakKey(): string {
  return Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.alloc(32)]).toString('base64');
}
