// Runs on Node, on Bun and compiled by Bun, and prints one line for each case, so that differences are visible.
import { createPublicKey, verify } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { canonicalJson } from '@tidegate/protocol/canonical-json';
import { generatePrivateKeyHex, loadSigningKey, signEnvelope } from '@tidegate/signing/sign';
import { KeyError, loadTrustedKey, verifyEnvelope } from '@tidegate/signing/verify';
import { preAuthenticationEncoding } from '../../packages/signing/src/dsse.ts';
import { isSignatureOf, publicKeyFromBytes } from '../../packages/signing/src/ed25519.ts';

const [, , repository = '.'] = process.argv;
const open = `${repository}/../shared/data/vectors`;

publicKeys();
library();
if (existsSync(open)) {
  wycheproof();
  rfc8032();
  rfc8037();
  dsse();
  rfc8785();
} else {
  console.log('absent', open);
}

/** Prints one case as JSON with its actual and its expected result. */
function say(kind: string, name: string, got: unknown, wanted: unknown): void {
  console.log(JSON.stringify({ kind, name, got, wanted }));
}

function publicKeys(): void {
  const cases: Record<string, { name: string; hex: string }[]> = read(
    `${repository}/vectors/ed25519-public-keys.json`,
  );
  for (const wanted of ['sound', 'weak', 'malformed']) {
    for (const { name, hex } of cases[wanted] ?? []) say('public key', name, judge(hex), wanted);
  }
}

function judge(publicKeyHex: string): string {
  try {
    loadTrustedKey({ keyId: 'k', publicKeyHex });
    return 'sound';
  } catch (error) {
    return error instanceof KeyError ? error.code : String(error);
  }
}

/** The verdict of the runtime's own library on a signature that anyone can make: R neutral, S zero, weak key. */
function library(): void {
  const neutral = `01${'00'.repeat(31)}`;
  const key = createPublicKey({
    key: Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), bytes(neutral)]),
    format: 'der',
    type: 'spki',
  });
  const taken = verify(null, Buffer.from('anything'), key, bytes(`${neutral}${'00'.repeat(32)}`));
  say('library', 'a forgery under the neutral point', taken ? 'taken' : 'refused', 'refused');
}

function wycheproof(): void {
  type Group = {
    publicKey: { pk: string };
    tests: { tcId: number; comment: string; msg: string; sig: string; result: string }[];
  };
  const { testGroups }: { testGroups: Group[] } = read(`${open}/wycheproof-ed25519/ed25519_test.json`);
  for (const { publicKey, tests } of testGroups) {
    const isSound = judge(publicKey.pk) === 'sound';
    for (const { tcId, comment, msg, sig, result } of tests) {
      const isValid = isSound && verifies(publicKey.pk, { msg, sig });
      say('wycheproof', `${tcId} ${comment}`, isValid ? 'valid' : 'invalid', result);
    }
  }
}

function rfc8032(): void {
  const vectors: { name: string; seed: string; public: string; msg: string; sig: string }[] = read(
    `${open}/rfc8032-rfc8037/rfc8032.json`,
  );
  for (const { name, seed, public: publicKey, msg, sig } of vectors) {
    say('rfc8032', `${name}: key`, generatePrivateKeyHex(bytes(seed)), seed + publicKey);
    say('rfc8032', `${name}: signature`, verifies(publicKey, { msg, sig }), true);
    say('rfc8032', `${name}: another message`, verifies(publicKey, { msg: `${msg}00`, sig }), false);
  }
}

function rfc8037(): void {
  const { jwk, jws }: { jwk: { d: string; x: string }; jws: string } = read(
    `${open}/rfc8032-rfc8037/rfc8037.json`,
  );
  const [header = '', body = '', signature = ''] = jws.split('.');
  const publicKey = Buffer.from(jwk.x, 'base64url').toString('hex');
  const seed = new Uint8Array(Buffer.from(jwk.d, 'base64url'));
  say('rfc8037', 'key', generatePrivateKeyHex(seed).slice(64), publicKey);
  const msg = Buffer.from(`${header}.${body}`).toString('hex');
  const sig = Buffer.from(signature, 'base64url').toString('hex');
  say('rfc8037', 'JWS', verifies(publicKey, { msg, sig }), true);
}

/** The encoding, and that any changed byte of type or body fails verification. */
function dsse(): void {
  const { pae }: { pae: { type: string; body: string; pae?: string; pae_hex?: string }[] } = read(
    `${open}/dsse/vectors.json`,
  );
  const key = loadSigningKey({
    keyId: 'k',
    privateKeyHex: generatePrivateKeyHex(new Uint8Array(32).fill(7)),
  });
  const trusted = [loadTrustedKey(key)];
  for (const { type, body, pae: text, pae_hex } of pae) {
    const wanted = pae_hex ?? Buffer.from(text ?? '').toString('hex');
    const content = new TextEncoder().encode(body);
    say(
      'dsse',
      `PAE of ${type}`,
      Buffer.from(preAuthenticationEncoding(type, content)).toString('hex'),
      wanted,
    );
    const envelope = signEnvelope(key, type, content);
    say('dsse', `signed ${type}`, verifyEnvelope(envelope, trusted, type).ok, true);
    for (const [at] of [...content].entries()) {
      const payload = Buffer.from(content.map((byte, index) => (index === at ? byte ^ 1 : byte))).toString(
        'base64',
      );
      say(
        'dsse',
        `byte ${at} of the body`,
        verifyEnvelope({ ...envelope, payload }, trusted, type).ok,
        false,
      );
    }
    for (const at of type.split('').keys()) {
      const payloadType = `${type.slice(0, at)}~${type.slice(at + 1)}`;
      const changed = { ...envelope, payloadType };
      say('dsse', `character ${at} of the type`, verifyEnvelope(changed, trusted, payloadType).ok, false);
    }
  }
}

function rfc8785(): void {
  for (const name of readdirSync(`${open}/rfc8785-jcs/input`)) {
    const wanted = readFileSync(`${open}/rfc8785-jcs/outhex/${name.replace('.json', '.txt')}`, 'utf8');
    const got = Buffer.from(canonicalJson(read(`${open}/rfc8785-jcs/input/${name}`))).toString('hex');
    say('rfc8785', name, got, wanted.replace(/\s+/g, ''));
  }
  const numbers: [string, string | null][] = read(`${open}/rfc8785-jcs/appendix-b-numbers.json`);
  for (const [bits, wanted] of numbers) {
    say('rfc8785', bits, numberText(Buffer.from(bits, 'hex').readDoubleBE()), wanted);
  }
}

function numberText(number: number): string | null {
  try {
    return canonicalJson(number);
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

function verifies(publicKeyHex: string, { msg, sig }: { msg: string; sig: string }): boolean {
  return isSignatureOf(bytes(msg), bytes(sig), publicKeyFromBytes(bytes(publicKeyHex)));
}

function bytes(hex: string): Uint8Array {
  return new Uint8Array(Buffer.from(hex, 'hex'));
}

function read<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8'));
}
