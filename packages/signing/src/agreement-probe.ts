// Run by agreement.test.ts on each runtime: prints its verdicts on signatures where libraries differ.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isSignatureOf, publicKeyFromBytes } from './ed25519.ts';
import { judgePublicKey, littleEndian } from './public-key.ts';
import { generatePrivateKeyHex, loadSigningKey, signEnvelope } from './sign.ts';
import { loadTrustedKey, verifyEnvelope } from './verify.ts';

const privateKeyHex = generatePrivateKeyHex(new Uint8Array(32).fill(1));
const key = loadSigningKey({ keyId: 'k', privateKeyHex });
const trusted = loadTrustedKey({ keyId: 'k', publicKeyHex: key.publicKeyHex });

console.log('public key', key.publicKeyHex);
for (const text of ['', '{"v":1}', '\u{1F40B}']) {
  const envelope = signEnvelope(key, 'type', new TextEncoder().encode(text));
  console.log('envelope', JSON.stringify(envelope), verifyEnvelope(envelope, [trusted], 'type').ok);
}
for (const message of ['m', 'n', 'o']) {
  console.log('R = neutral point', message, verdict(key.publicKeyHex, message, neutralSignature(message)));
}
for (const { pk, msg, sig } of wycheproof()) {
  console.log('wycheproof', judgePublicKey(bytes(pk)), verdict(pk, Buffer.from(msg, 'hex'), sig));
}

/** What a holder of the key can make: R = neutral point, S = h a. OpenSSL 3.5 refuses it, Bun 1.4 takes it. */
function neutralSignature(message: string): string {
  const groupOrder = 2n ** 252n + 27742317777372353535851937790883648493n;
  const secretScalar = 6763038735534327270189606136863609920915615653247741836199112176246006214858n;
  const neutral = bytes(`01${'00'.repeat(31)}`);
  const digest = createHash('sha512')
    .update(neutral)
    .update(bytes(key.publicKeyHex))
    .update(message)
    .digest();
  const s = (littleEndian(digest) * secretScalar) % groupOrder;
  const spelt = Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse();
  return Buffer.concat([neutral, spelt]).toString('hex');
}

function verdict(publicKeyHex: string, message: string | Uint8Array, signatureHex: string): boolean {
  return isSignatureOf(Buffer.from(message), bytes(signatureHex), publicKeyFromBytes(bytes(publicKeyHex)));
}

function bytes(hex: string): Uint8Array {
  return new Uint8Array(Buffer.from(hex, 'hex'));
}

function wycheproof(): { pk: string; msg: string; sig: string }[] {
  const relative = '../../../../shared/data/vectors/wycheproof-ed25519/ed25519_test.json';
  const file = path.join(import.meta.dirname, relative);
  if (!existsSync(file)) return [];
  type Group = { publicKey: { pk: string }; tests: { msg: string; sig: string }[] };
  const { testGroups }: { testGroups: Group[] } = JSON.parse(readFileSync(file, 'utf8'));
  return testGroups.flatMap(({ publicKey, tests }) =>
    tests.map(({ msg, sig }) => ({ pk: publicKey.pk, msg, sig })),
  );
}
