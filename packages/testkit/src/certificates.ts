import 'reflect-metadata';
import { KeyObject, type webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import {
  BasicConstraintsExtension,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** A certificate and its private key, in PEM. */
export type TestPair = { cert: string; key: string };

/** A certificate authority of a test. */
export type TestAuthority = {
  /** Its own certificate, in PEM: what clients trust. */
  readonly cert: string;
  /** Issues a certificate for these names and addresses. Valid from now for a day if nothing else is said. */
  issue(names: readonly string[], validity?: { fromMs: number; untilMs: number }): Promise<TestPair>;
};

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' };
const SIGNING = { name: 'ECDSA', hash: 'SHA-256' };
const DAY_MS = 86_400_000;

/** Makes an authority with a new key; `name` is its common name. */
export async function createAuthority(name = 'Tidegate test authority'): Promise<TestAuthority> {
  const keys = await newKeys();
  const root = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    signingAlgorithm: SIGNING,
    notBefore: new Date(0),
    notAfter: new Date(Date.UTC(2100, 0)),
    extensions: [new BasicConstraintsExtension(true, undefined, true)],
  });
  return {
    cert: root.toString('pem'),
    async issue(names, validity = { fromMs: Date.now() - 60_000, untilMs: Date.now() + DAY_MS }) {
      const own = await newKeys();
      const certificate = await X509CertificateGenerator.create({
        subject: '',
        issuer: root.subject,
        notBefore: new Date(validity.fromMs),
        notAfter: new Date(validity.untilMs),
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: SIGNING,
        extensions: [alternativesOf(names)],
      });
      return pemOf(certificate, own);
    },
  };
}

/** Makes a certificate that vouches for itself, for these names and addresses, valid from now for so many days. */
export async function createSelfSigned(names: readonly string[], days = 30): Promise<TestPair> {
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${names[0]}`,
    keys,
    signingAlgorithm: SIGNING,
    notBefore: new Date(),
    notAfter: new Date(Date.now() + days * DAY_MS),
    extensions: [alternativesOf(names)],
  });
  return pemOf(certificate, keys);
}

function alternativesOf(names: readonly string[]): SubjectAlternativeNameExtension {
  return new SubjectAlternativeNameExtension(
    names.map((value) => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value })),
  );
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}

function pemOf(certificate: X509Certificate, { privateKey }: webcrypto.CryptoKeyPair): TestPair {
  const key = KeyObject.from(privateKey).export({ type: 'pkcs8', format: 'pem' });
  return { cert: `${certificate.toString('pem')}\n`, key: String(key) };
}
