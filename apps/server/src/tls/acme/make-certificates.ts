import 'reflect-metadata';
import { KeyObject, type webcrypto } from 'node:crypto';
import {
  Extension,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { KeyPair } from '../key-pair.ts';
import { digestOf } from './acme-session.ts';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' };
const SIGNING = { name: 'ECDSA', hash: 'SHA-256' };

/** A new private key on P-256, in PEM. */
export async function makeKey(): Promise<string> {
  return pemOf((await newKeys()).privateKey);
}

/** A new key in PEM, and a request for a certificate for these names, in base64url of its DER (RFC 8555, section 7.4). */
export async function makeRequest(names: readonly string[]): Promise<{ key: string; csr: string }> {
  const keys = await newKeys();
  const request = await Pkcs10CertificateRequestGenerator.create({
    ...{ keys, signingAlgorithm: SIGNING, extensions: [namesOf(names)] },
  });
  return { key: pemOf(keys.privateKey), csr: Buffer.from(request.rawData).toString('base64url') };
}

/** id-pe-acmeIdentifier. */
const ACME_IDENTIFIER = '1.3.6.1.5.5.7.1.31';
/** DER of an OCTET STRING of 32 bytes, before the bytes. */
const OCTETS_32 = Buffer.from([0x04, 0x20]);
const CHALLENGE_DAYS = 2;
const DAY_MS = 86_400_000;

/** The self-signed certificate that answers tls-alpn-01 for a name (RFC 8737, section 3). */
export async function makeChallengeCertificate(
  name: string,
  { keyAuthorization, nowMs }: { keyAuthorization: string; nowMs: number },
): Promise<KeyPair> {
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...{ name: 'CN=ACME challenge', keys, signingAlgorithm: SIGNING },
    notBefore: new Date(nowMs - DAY_MS),
    notAfter: new Date(nowMs + CHALLENGE_DAYS * DAY_MS),
    extensions: [
      namesOf([name]),
      new Extension(ACME_IDENTIFIER, true, Buffer.concat([OCTETS_32, digestOf(keyAuthorization)])),
    ],
  });
  return { cert: certificate.toString('pem'), key: pemOf(keys.privateKey) };
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}

function namesOf(names: readonly string[]): SubjectAlternativeNameExtension {
  return new SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns', value })));
}

function pemOf(key: webcrypto.CryptoKey): string {
  return String(KeyObject.from(key).export({ type: 'pkcs8', format: 'pem' }));
}
