import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { sha256Hex } from '../platform/sha256.ts';

/** How hosts come to trust the certificate of this server. */
export type ServerCa =
  /** Hosts trust public authorities, or the certificate is that of a proxy. */
  | { readonly kind: 'public' }
  /** They have to be given this. */
  | { readonly kind: 'private'; readonly pem: string; readonly sha256: string }
  /** They have to be given something that this server does not have. */
  | { readonly kind: 'missing' };

const CERTIFICATES = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

export type ReadCa = { ok: true; pem: string | null } | { ok: false; fault: string };

/** Reads SERVICE_TLS_CA_CERT: PEM text, or the path of a file. */
export function readServerCa(given: string | null): ReadCa {
  if (given === null) return { ok: true, pem: null };
  const allowed = 'allowed: PEM text of certificates, or the path of a readable file with them';
  try {
    const found = certificatesIn(given.includes('-----BEGIN') ? given : readFileSync(given, 'utf8'));
    if (found.length > 0) return { ok: true, pem: pemOf(found) };
  } catch {
    // Told below: the cause is in the value, which the fault shows.
  }
  return { ok: false, fault: `SERVICE_TLS_CA_CERT is ${JSON.stringify(given.slice(0, 100))}; ${allowed}` };
}

/** `configured` wins; without it, what the chain that is presented says. Null for `chain`: there is none here. */
export function serverCaOf({
  configured,
  chain,
}: {
  configured: string | null;
  chain: string | null;
}): ServerCa {
  if (configured !== null) return privateCa(configured);
  const last = chain === null ? undefined : certificatesIn(chain).at(-1);
  if (last === undefined || isPublic(last)) return { kind: 'public' };
  return isSelfSigned(last) ? privateCa(pemOf([last])) : { kind: 'missing' };
}

function privateCa(pem: string): ServerCa {
  return { kind: 'private', pem, sha256: sha256Hex(pem) };
}

/** A root of the public, or signed by one. */
function isPublic(certificate: X509Certificate): boolean {
  return rootCertificates.some((pem) => {
    const root = new X509Certificate(pem);
    if (root.fingerprint256 === certificate.fingerprint256) return true;
    return certificate.checkIssued(root) && certificate.verify(root.publicKey);
  });
}

function isSelfSigned(certificate: X509Certificate): boolean {
  return certificate.checkIssued(certificate) && certificate.verify(certificate.publicKey);
}

function certificatesIn(pem: string): X509Certificate[] {
  return (pem.match(CERTIFICATES) ?? []).map((one) => new X509Certificate(one));
}

function pemOf(certificates: readonly X509Certificate[]): string {
  return certificates.map((one) => `${one.toString().trimEnd()}\n`).join('');
}
