import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { bundleToJSON } from '@sigstore/bundle';
import { initializeCA, initializeCTLog, initializeTLog } from '@sigstore/mock';
import { HashAlgorithm, PublicKeyDetails, TrustedRoot } from '@sigstore/protobuf-specs';
import { DSSEBundleBuilder, type Signer, type Witness } from '@sigstore/sign';
import { Type } from 'typebox';
import { Value } from 'typebox/value';

export const SLSA = 'https://slsa.dev/provenance/v1';
const REPOSITORY_OID = '1.3.6.1.4.1.57264.1.12';
const BUILDER_OID = '1.3.6.1.4.1.57264.1.9';
const IN_TOTO = 'application/vnd.in-toto+json';

/** The log's answer; its own types are in a package that is not installed. */
const Logged = Type.Object({
  body: Type.String(),
  integratedTime: Type.Number(),
  logID: Type.String(),
  logIndex: Type.Number(),
  verification: Type.Object({
    signedEntryTimestamp: Type.String(),
    inclusionProof: Type.Object({
      logIndex: Type.Number(),
      treeSize: Type.Number(),
      rootHash: Type.String(),
      checkpoint: Type.String(),
    }),
  }),
});

export interface Attested {
  readonly name: string;
  readonly digest: Readonly<Record<string, string>>;
  readonly repository?: string;
}

/** An in-memory certificate authority and logs of sigstore for real bundles, with the root for them. */
export async function createSigstoreScene() {
  const authority = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const certificateLogKeys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const logKeys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const certificateLog = await initializeCTLog(certificateLogKeys);
  const ca = await initializeCA(authority, certificateLog);
  const log = await initializeTLog('https://rekor.example', logKeys);
  const trustedRoot = TrustedRoot.fromJSON({
    mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1',
    certificateAuthorities: [
      {
        uri: 'https://fulcio.example',
        certChain: { certificates: [{ rawBytes: base64(ca.rootCertificate) }] },
      },
    ],
    tlogs: [logOf(log.publicKey, createHash('sha256').update(log.publicKey).digest())],
    ctlogs: [logOf(certificateLog.publicKey, certificateLog.logID)],
    timestampAuthorities: [],
  });

  /** Signs with a new key whose certificate names the repository. */
  function signerFor(repository: string): Signer {
    const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const builder = `${repository}/.github/workflows/release.yml@refs/heads/main`;
    return {
      async sign(data) {
        const certificate = await ca.issueCertificate({
          publicKey: keys.publicKey.export({ format: 'der', type: 'spki' }),
          subjectAltName: builder,
          extensions: [
            { oid: REPOSITORY_OID, value: repository },
            { oid: BUILDER_OID, value: builder },
          ],
        });
        const pem = `-----BEGIN CERTIFICATE-----\n${base64(certificate)}\n-----END CERTIFICATE-----\n`;
        const key = { $case: 'x509Certificate', certificate: pem } as const;
        return { key, signature: sign('sha256', data, keys.privateKey) };
      },
    };
  }

  /** Logs an envelope as Rekor does: its hash and signature. */
  const witness: Witness = {
    async testify(content) {
      if (content.$case !== 'dsseEnvelope') throw new Error('no envelope');
      const { payload, signatures } = content.dsseEnvelope;
      const hash = { algorithm: 'sha256', value: createHash('sha256').update(payload).digest('hex') };
      const signed = signatures.map(({ sig }) => ({ signature: sig.toString('base64'), verifier: '' }));
      const entry = await log.log({
        apiVersion: '0.0.1',
        kind: 'dsse',
        spec: { envelopeHash: hash, payloadHash: hash, signatures: signed },
      });
      const logged = Value.Parse(Logged, Object.values(entry)[0]);
      const { inclusionProof: proof, signedEntryTimestamp: promise } = logged.verification;
      return {
        tlogEntries: [
          {
            logIndex: String(logged.logIndex),
            logId: { keyId: Buffer.from(logged.logID, 'hex') },
            kindVersion: { kind: 'dsse', version: '0.0.1' },
            integratedTime: String(logged.integratedTime),
            inclusionPromise: { signedEntryTimestamp: Buffer.from(promise, 'base64') },
            inclusionProof: {
              logIndex: String(proof.logIndex),
              treeSize: String(proof.treeSize),
              rootHash: Buffer.from(proof.rootHash, 'hex'),
              hashes: [],
              checkpoint: { envelope: proof.checkpoint },
            },
            canonicalizedBody: Buffer.from(logged.body, 'base64'),
          },
        ],
      };
    },
  };

  return {
    trustedRoot,
    /** The bundle of a statement that a repository built the artifact. */
    async bundle({ name, digest, repository = 'https://git.example/left' }: Attested) {
      const builder = new DSSEBundleBuilder({ signer: signerFor(repository), witnesses: [witness] });
      const statement = {
        _type: 'https://in-toto.io/Statement/v1',
        subject: [{ name, digest }],
        predicateType: SLSA,
        predicate: {},
      };
      const data = Buffer.from(JSON.stringify(statement));
      return bundleToJSON(await builder.create({ data, type: IN_TOTO }));
    },
  };
}

export type SigstoreScene = Awaited<ReturnType<typeof createSigstoreScene>>;

function logOf(publicKey: Uint8Array, logId: ArrayBufferView): unknown {
  return {
    baseUrl: 'https://rekor.example',
    hashAlgorithm: HashAlgorithm[HashAlgorithm.SHA2_256],
    publicKey: {
      rawBytes: base64(publicKey),
      keyDetails: PublicKeyDetails[PublicKeyDetails.PKIX_ECDSA_P256_SHA_256],
      validFor: { start: '2000-01-01T00:00:00Z' },
    },
    logId: { keyId: base64(logId) },
  };
}

function base64(bytes: ArrayBufferView): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
