import { readFileSync } from 'node:fs';
import { bundleFromJSON, isBundleWithDsseEnvelope } from '@sigstore/bundle';
import { TrustedRoot } from '@sigstore/protobuf-specs';
import { type Signer, toSignedEntity, toTrustMaterial, Verifier } from '@sigstore/verify';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { type ArtifactHash, bare, type Provenance } from './provenance-rules.ts';

/** Judges one sigstore bundle for one artifact; never throws. Without an artifact any subject matches. */
export type BundleVerifier = (bundle: unknown, hash: ArtifactHash | null) => Provenance;

/** Maximum length of a certificate's text that is shown, in characters. */
const SHOWN_MAX_CHARS = 512;
/** Subjects of a statement that are examined. */
const SUBJECTS_MAX = 1_000;

const Statement = Type.Object({
  subject: Type.Array(Type.Object({ digest: Type.Record(Type.String(), Type.String()) }), {
    maxItems: SUBJECTS_MAX,
  }),
});

export type { TrustedRoot };

export type ReadRoot = { ok: true; root: TrustedRoot | null } | { ok: false; fault: string };

/** Reads the trusted root that the setting names; a fault names the problem. */
export function readTrustedRoot(path: string | null): ReadRoot {
  if (path === null) return { ok: true, root: null };
  const allowed = 'allowed: the path of a trusted root of sigstore as JSON';
  try {
    const root = TrustedRoot.fromJSON(JSON.parse(readFileSync(path, 'utf8')));
    toTrustMaterial(root);
    if (root.certificateAuthorities.length > 0) return { ok: true, root };
    const fault = 'names a file without certificate authorities';
    return { ok: false, fault: `SERVICE_SIGSTORE_TRUSTED_ROOT ${fault}; ${allowed}` };
  } catch (error) {
    // The library throws for every kind of invalid root.
    const cause = error instanceof Error ? error.message.slice(0, 200) : String(error);
    return { ok: false, fault: `SERVICE_SIGSTORE_TRUSTED_ROOT cannot be read (${cause}); ${allowed}` };
  }
}

/** Without a root every bundle counts as unverified. */
export function createBundleVerifier(root: TrustedRoot | null): BundleVerifier {
  const verifier = root && new Verifier(toTrustMaterial(root));
  return (json, hash) => {
    const bundle = readBundle(json);
    if (!bundle || !isBundleWithDsseEnvelope(bundle)) return bare('unverified');
    if (!isFor(bundle.content.dsseEnvelope.payload, hash)) return bare('mismatch');
    const signer = verifier && signerOf(() => verifier.verify(toSignedEntity(bundle)));
    return signer ? fromSigner(signer) : bare('unverified');
  };
}

function readBundle(json: unknown): ReturnType<typeof bundleFromJSON> | null {
  try {
    return bundleFromJSON(json);
  } catch {
    // The library throws for untrusted bytes in many ways: it is no bundle.
    return null;
  }
}

function signerOf(verify: () => Signer): Signer | null {
  try {
    return verify();
  } catch {
    // Certificates and proofs are untrusted: every throw means not verified.
    return null;
  }
}

/** The statement is for an artifact with this hash. */
function isFor(payload: Uint8Array, hash: ArtifactHash | null): boolean {
  if (hash === null) return true;
  const json = parseStrictJson(payload);
  if (!json.ok || !Value.Check(Statement, json.value)) return false;
  return json.value.subject.some(({ digest }) => {
    const given = Object.hasOwn(digest, hash.algorithm) ? digest[hash.algorithm] : undefined;
    return given?.toLowerCase() === hash.hex;
  });
}

/** Fulcio's extensions: "Source Repository URI" and "Build Signer URI". */
const OID_SOURCE_REPOSITORY = '1.3.6.1.4.1.57264.1.12';
const OID_BUILD_SIGNER = '1.3.6.1.4.1.57264.1.9';

function fromSigner({ identity }: Signer): Provenance {
  const texts = new Map(
    (identity?.oids ?? []).map(({ oid, value }) => [oid?.id.join('.') ?? '', utf8Of(value)]),
  );
  return {
    status: 'verified',
    sourceRepository: texts.get(OID_SOURCE_REPOSITORY) ?? null,
    builder:
      texts.get(OID_BUILD_SIGNER) ?? identity?.subjectAlternativeName?.slice(0, SHOWN_MAX_CHARS) ?? null,
  };
}

/** The text of a DER UTF8String; null if it is invalid, or longer than is shown. */
function utf8Of(der: Uint8Array): string | null {
  const [tag, length = 0] = der;
  const isLong = length === 0x81 || length === 0x82;
  const start = isLong ? 2 + (length & 0x7f) : 2;
  const bytes = der.subarray(start);
  const said = isLong ? der.subarray(2, start).reduce((sum, byte) => sum * 256 + byte, 0) : length;
  if (tag !== 0x0c || bytes.length !== said || bytes.length > SHOWN_MAX_CHARS) return null;
  return Buffer.from(bytes).toString('utf8');
}
