import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';

/** A certificate chain, the server's own certificate first, and the private key of that one. Both in PEM. */
export interface KeyPair {
  cert: string;
  key: string;
}

/** What a certificate says. */
export interface CertificateFacts {
  notBeforeMs: number;
  notAfterMs: number;
  /** SHA-256 of the certificate, in hex. */
  fingerprint: string;
  /** Whether the certificate is valid for this DNS name or address. */
  covers(name: string): boolean;
  /** What is wrong with the certificates after the first; null if each has signed the one before it. */
  chainFault: string | null;
}

export type ExaminedPair = { ok: true; facts: CertificateFacts } | { ok: false; fault: string };

/** Reads a pair that a server may present. A fault names what is wrong and holds no part of either. */
export function examinePair({ cert, key }: KeyPair): ExaminedPair {
  const chain = parseChain(cert);
  const [own] = chain ?? [];
  if (!chain || !own) return { ok: false, fault: 'the certificate cannot be parsed' };
  try {
    if (!own.checkPrivateKey(createPrivateKey(key))) {
      return { ok: false, fault: 'the key does not belong to the certificate' };
    }
  } catch {
    return { ok: false, fault: 'the key cannot be parsed' };
  }
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    return { ok: false, fault: `TLS does not take the pair (${codeOf(error)})` };
  }
  return { ok: true, facts: factsOf(own, chain) };
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Null if one of the certificates cannot be parsed. */
function parseChain(pem: string): X509Certificate[] | null {
  try {
    return (pem.match(CERTIFICATE) ?? []).map((one) => new X509Certificate(one));
  } catch {
    return null;
  }
}

function factsOf(own: X509Certificate, chain: readonly X509Certificate[]): CertificateFacts {
  const broken = chain.findIndex((one, i) => i > 0 && !chain[i - 1]?.checkIssued(one));
  return {
    notBeforeMs: own.validFromDate.getTime(),
    notAfterMs: own.validToDate.getTime(),
    fingerprint: own.fingerprint256.replaceAll(':', '').toLowerCase(),
    covers: (name) => (isIP(name) === 0 ? own.checkHost(name) : own.checkIP(name)) !== undefined,
    chainFault: broken < 0 ? null : `certificate ${broken + 1} did not sign certificate ${broken}`,
  };
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}
