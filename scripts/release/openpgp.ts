import { createHash } from 'node:crypto';
import {
  type Config,
  config,
  createCleartextMessage,
  createMessage,
  enums,
  type PrivateKey,
  readCleartextMessage,
  readKey,
  readPrivateKey,
  readSignature,
  reformatKey,
  sign,
  verify,
} from 'openpgp';

/**
 * The name and time of every release key in OpenPGP: the fingerprint is over key and time, so that one Ed25519 key has one
 * fingerprint. No signature may be older.
 */
const USER_ID = 'Tidegate releases';
const KEY_CREATED = new Date('2020-01-01T00:00:00Z');
/** Salts would make each signature another. Version and comment would say which library made it. */
const CONFIG = {
  nonDeterministicSignaturesViaNotation: false,
  showVersion: false,
  showComment: false,
} satisfies Partial<Config>;
/** Ed25519 in version 4 keys: its object identifier, with its length (RFC 9580, section 9.2). */
const CURVE = Buffer.from('092b06010401da470f01', 'hex');

/** What is signed: a text inside its signature (InRelease), or a file beside it. */
export type OpenPgpForm = 'clear' | 'detached';

export interface OpenPgpKey {
  /** The public half, armoured. */
  readonly publicAsc: string;
  sign(form: OpenPgpForm, content: Buffer, date: Date): Promise<string>;
}

/**
 * An Ed25519 key (seed and public half, as hex) as OpenPGP, version 4 with EdDSA (22): what the gpgv of Debian 10 and the dnf
 * of RHEL 8 accept as well. Equal content and date give equal bytes.
 */
export async function openPgpKey(privateKeyHex: string): Promise<OpenPgpKey> {
  const bytes = Buffer.from(privateKeyHex, 'hex');
  const secret = multiprecision(bytes.subarray(0, 32));
  const checksum = Buffer.alloc(2);
  checksum.writeUInt16BE(secret.reduce((sum, byte) => (sum + byte) & 0xffff, 0));
  const unencrypted = Buffer.of(0);
  const body = Buffer.concat([publicBody(bytes.subarray(32)), unencrypted, secret, checksum]);
  const packet = Buffer.concat([Buffer.of(0xc0 | enums.packet.secretKey, body.length), body]);
  const made = await reformatKey({
    privateKey: await readPrivateKey({ binaryKey: packet, config: CONFIG }),
    userIDs: [{ name: USER_ID }],
    date: KEY_CREATED,
    format: 'object',
    config: CONFIG,
  });
  return {
    publicAsc: made.publicKey.armor({ ...config, ...CONFIG }),
    sign: (form, content, date) => signed(made.privateKey, form, { content, date }),
  };
}

async function signed(
  signingKeys: PrivateKey,
  form: OpenPgpForm,
  { content, date }: { content: Buffer; date: Date },
): Promise<string> {
  if (date < KEY_CREATED) throw new Error(`a release before ${KEY_CREATED.toISOString()} cannot be signed`);
  const options = { signingKeys, date, config: CONFIG };
  if (form === 'detached') {
    const message = await createMessage({ binary: content });
    return sign({ ...options, message, detached: true });
  }
  return sign({ ...options, message: await createCleartextMessage({ text: content.toString('utf8') }) });
}

/** A detached signature as rpm keeps it. */
export async function unarmoured(signature: Buffer): Promise<Buffer> {
  const read = await readSignature({ armoredSignature: signature.toString('utf8') });
  return Buffer.from(read.write());
}

/** @throws unless `publicAsc` is the key with this public half, and `signature` one of it over the content. */
export async function verifyOpenPgp(
  { publicAsc, publicKeyHex }: { publicAsc: string; publicKeyHex: string },
  { form, content, signature, date }: { form: OpenPgpForm; content: Buffer; signature: string; date: Date },
): Promise<void> {
  const verificationKeys = await readKey({ armoredKey: publicAsc, config: CONFIG });
  if (verificationKeys.getFingerprint() !== fingerprintOf(publicKeyHex))
    throw new Error(`the OpenPGP key is not that of ${publicKeyHex}`);
  const options = { verificationKeys, date, config: CONFIG, expectSigned: true };
  if (form === 'detached') {
    const message = await createMessage({ binary: content });
    await verify({ ...options, message, signature: await readSignature({ armoredSignature: signature }) });
    return;
  }
  const message = await readCleartextMessage({ cleartextMessage: signature });
  await verify({ ...options, message });
  if (message.getText().trimEnd() !== content.toString('utf8').trimEnd())
    throw new Error('another text is signed');
}

function fingerprintOf(publicKeyHex: string): string {
  const body = publicBody(Buffer.from(publicKeyHex, 'hex'));
  const framed = Buffer.concat([Buffer.of(0x99, 0, body.length), body]);
  return createHash('sha1').update(framed).digest('hex');
}

/** The public key packet without its header (RFC 9580, section 5.5.2.2). */
function publicBody(point: Buffer): Buffer {
  const head = Buffer.alloc(6);
  head.writeUInt8(4, 0);
  head.writeUInt32BE(KEY_CREATED.getTime() / 1_000, 1);
  head.writeUInt8(enums.publicKey.eddsaLegacy, 5);
  const compressed = Buffer.concat([Buffer.of(0x40), point]);
  return Buffer.concat([head, CURVE, multiprecision(compressed)]);
}

/** A number with its length in bits, without zeroes in front (RFC 9580, section 3.2). */
function multiprecision(bytes: Buffer): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const digits = bytes.subarray(first);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(digits.length * 8 - (Math.clz32(digits.readUInt8(0)) - 24));
  return Buffer.concat([length, digits]);
}
