import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';
import { Type } from 'typebox';
import { Value } from 'typebox/value';

const CreationOptions = Type.Object({
  challenge: Type.String(),
  rp: Type.Object({ id: Type.String() }),
  user: Type.Object({ id: Type.String() }),
});
const RequestOptions = Type.Object({ challenge: Type.String(), rpId: Type.String() });
const Begun = <T extends Type.TSchema>(options: T) => Type.Object({ challenge_id: Type.String(), options });

type Cbor = Parameters<typeof isoCBOR.encode>[0];

/** What a test makes go wrong in what the browser and the authenticator say. */
export interface Lies {
  origin?: string;
  rpId?: string;
  challenge?: string;
  crossOrigin?: boolean;
  type?: string;
  isUserVerified?: boolean;
  isUserPresent?: boolean;
  /** Instead of one more than the last time. */
  count?: number;
  userHandle?: string;
  credentialId?: string;
  signature?: Buffer;
  /** Signed by a key of somebody else. */
  isForged?: boolean;
  /** The statement about the authenticator, instead of none. */
  attestation?: { format: string; statement: Map<string, Cbor> };
}

export interface SoftwareAuthenticator {
  /** Answers the options of a new passkey, as a browser would send them on. */
  create(begun: unknown, lies?: Lies): { challenge_id: string; credential: object };
  /** Answers the options of a login or a step-up. */
  get(begun: unknown, lies?: Lies): { challenge_id: string; credential: object };
}

const FLAGS = { present: 0x01, verified: 0x04, credential: 0x40 };
const AAGUID = Buffer.alloc(16);

/** An authenticator with one passkey, behind a browser that shows `origin`. One that does not count says 0 for ever. */
export function createAuthenticator({
  origin = 'http://localhost',
  algorithm = 'p-256',
  counts = true,
}: {
  origin?: string;
  algorithm?: 'p-256' | 'ed25519';
  counts?: boolean;
} = {}): SoftwareAuthenticator {
  const { privateKey, publicKey } = newKeyPair(algorithm);
  const credentialId = randomBytes(24);
  let userHandle = '';
  let count = 0;

  function authenticatorData(rpId: string, lies: Lies, attested: Buffer | null): Buffer {
    const { isUserVerified = true, isUserPresent = true } = lies;
    const flags =
      (isUserPresent ? FLAGS.present : 0) |
      (isUserVerified ? FLAGS.verified : 0) |
      (attested ? FLAGS.credential : 0);
    if (counts) count++;
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(lies.count ?? count);
    return Buffer.concat([
      sha256(Buffer.from(lies.rpId ?? rpId)),
      Buffer.from([flags]),
      counter,
      attested ?? Buffer.alloc(0),
    ]);
  }

  function clientData(type: string, challenge: string, lies: Lies): Buffer {
    const data = {
      type: lies.type ?? type,
      challenge: lies.challenge ?? challenge,
      origin: lies.origin ?? origin,
      crossOrigin: lies.crossOrigin ?? false,
    };
    return Buffer.from(JSON.stringify(data));
  }

  function named(lies: Lies, response: object): object {
    const id = lies.credentialId ?? credentialId.toString('base64url');
    return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response };
  }

  return {
    create(begun, lies = {}) {
      const { challenge_id, options } = Value.Parse(Begun(CreationOptions), begun);
      userHandle = options.user.id;
      const length = Buffer.alloc(2);
      length.writeUInt16BE(credentialId.length);
      const attested = Buffer.concat([AAGUID, length, credentialId, coseKey(publicKey)]);
      const authData = authenticatorData(options.rp.id, lies, attested);
      const { format, statement } = lies.attestation ?? { format: 'none', statement: new Map() };
      const members: [string, Cbor][] = [
        ['fmt', format],
        ['attStmt', statement],
        ['authData', bytes(authData)],
      ];
      const object = isoCBOR.encode(new Map(members));
      const response = {
        clientDataJSON: clientData('webauthn.create', options.challenge, lies).toString('base64url'),
        attestationObject: Buffer.from(object).toString('base64url'),
        transports: ['internal', 'hybrid'],
      };
      return { challenge_id, credential: named(lies, response) };
    },
    get(begun, lies = {}) {
      const { challenge_id, options } = Value.Parse(Begun(RequestOptions), begun);
      const data = authenticatorData(options.rpId, lies, null);
      const client = clientData('webauthn.get', options.challenge, lies);
      const key = lies.isForged ? newKeyPair(algorithm).privateKey : privateKey;
      const signature = lies.signature ?? signatureOf(key, Buffer.concat([data, sha256(client)]));
      const response = {
        clientDataJSON: client.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: signature.toString('base64url'),
        userHandle: lies.userHandle ?? userHandle,
      };
      return { challenge_id, credential: named(lies, response) };
    },
  };
}

function newKeyPair(algorithm: 'p-256' | 'ed25519') {
  return algorithm === 'ed25519'
    ? generateKeyPairSync('ed25519')
    : generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

/** A public key in COSE (RFC 9053): Ed25519, or P-256. */
function coseKey(key: KeyObject): Buffer {
  const { x, y, crv } = key.export({ format: 'jwk' });
  const [X, Y] = [x, y].map((half) => bytes(Buffer.from(half ?? '', 'base64url')));
  const members: [number, Cbor][] =
    crv === 'Ed25519'
      ? [
          [1, 1],
          [3, -8],
          [-1, 6],
          [-2, X ?? AAGUID],
        ]
      : [
          [1, 2],
          [3, -7],
          [-1, 1],
          [-2, X ?? AAGUID],
          [-3, Y ?? AAGUID],
        ];
  return Buffer.from(isoCBOR.encode(new Map(members)));
}

function signatureOf(key: KeyObject, data: Buffer): Buffer {
  return sign(key.asymmetricKeyType === 'ed25519' ? null : 'sha256', data, key);
}

function sha256(data: Buffer): Buffer {
  return createHash('sha256').update(data).digest();
}

/** CBOR's byte string is a plain Uint8Array; a Buffer would be another type. */
function bytes(buffer: Buffer): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(buffer);
}
