import { readFileSync } from 'node:fs';
import { loadSigningKey, type SigningKey, signDetached } from '@tidegate/signing/sign';
import { KeyError, loadTrustedKey, verifyDetached } from '@tidegate/signing/verify';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import { type OpenPgpForm, openPgpKey, verifyOpenPgp } from './openpgp.ts';
import { ReleaseFault } from './release-fault.ts';

/** `raw` is Ed25519 over the bytes themselves, as of SHA256SUMS. */
type Form = 'raw' | OpenPgpForm;

/** Signs the files of the agents folder, each by the name of its signature. */
export interface ReleaseSigner {
  readonly publicKeyHex: string;
  readonly publicAsc: string;
  signatureOf(name: string, form: Form, content: Buffer): Promise<Buffer>;
  /** Every signature so far, so that others build the same bytes without the key. */
  record(): string;
}

const Signatures = Type.Object(
  {
    public_key_hex: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    public_asc: Type.String(),
    signatures: Type.Record(Type.String(), Type.String({ pattern: '^[A-Za-z0-9+/]+=*$' })),
  },
  { additionalProperties: false },
);

/** With the offline key, as `tidegate keys release make` writes it. Throws ReleaseFault if the file holds none. */
export async function signerOfKey(file: string, epochSeconds: number): Promise<ReleaseSigner> {
  const privateKeyHex = readGiven(file).trim();
  const key = loadReleaseKey(file, privateKeyHex);
  const { publicAsc, sign } = await openPgpKey(privateKeyHex);
  const date = new Date(epochSeconds * 1_000);
  return recording({ publicKeyHex: key.publicKeyHex, publicAsc }, async (_, form, content) =>
    form === 'raw' ? Buffer.from(signDetached(key, content)) : Buffer.from(await sign(form, content, date)),
  );
}

/** With the signatures of an earlier build, each verified over what this build has made. Throws ReleaseFault where they are not. */
export function signerOfRecord(file: string, epochSeconds: number): ReleaseSigner {
  const record = parseJson(readGiven(file));
  if (!Check(Signatures, record)) throw new ReleaseFault(`${file} is no agents-signatures.json of a release`);
  const { public_key_hex: publicKeyHex, public_asc: publicAsc, signatures } = record;
  const key = loadTrustedKey({ keyId: 'release', publicKeyHex });
  const date = new Date(epochSeconds * 1_000);
  return recording({ publicKeyHex, publicAsc }, async (name, form, content) => {
    const signature = Buffer.from(signatures[name] ?? '', 'base64');
    try {
      if (form !== 'raw')
        await verifyOpenPgp(
          { publicAsc, publicKeyHex },
          { form, content, signature: signature.toString('utf8'), date },
        );
      else if (!verifyDetached(key, content, signature)) throw new Error('another file is signed');
    } catch (cause) {
      throw new ReleaseFault(`${file} has no signature ${name} for what this build has made`, { cause });
    }
    return signature;
  });
}

function readGiven(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : 'unknown';
    throw new ReleaseFault(`${file} cannot be read (${code})`, { cause });
  }
}

function loadReleaseKey(file: string, privateKeyHex: string): SigningKey {
  try {
    return loadSigningKey({ keyId: 'release', privateKeyHex });
  } catch (cause) {
    if (!(cause instanceof KeyError)) throw cause;
    throw new ReleaseFault(
      `${file} holds no release key; allowed: the file that tidegate keys release make writes`,
      { cause },
    );
  }
}

/** null for what is no JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function recording(
  about: { publicKeyHex: string; publicAsc: string },
  signatureOf: ReleaseSigner['signatureOf'],
): ReleaseSigner {
  const made = new Map<string, string>();
  return {
    ...about,
    async signatureOf(name, form, content) {
      const signature = await signatureOf(name, form, content);
      made.set(name, signature.toString('base64'));
      return signature;
    },
    record() {
      const { publicKeyHex: public_key_hex, publicAsc: public_asc } = about;
      return `${JSON.stringify({ public_key_hex, public_asc, signatures: Object.fromEntries(made) }, null, 2)}\n`;
    },
  };
}
