import { X509Certificate } from 'node:crypto';
import { readTrusted } from '../platform/file-layer.ts';

/** Root's: the certificates that alone vouch for the server, in PEM. */
export const SERVER_CA_FILE = '/etc/tidegate/server-ca.pem';
const MAX_BYTES = 256 * 1024;
const BEGIN = '-----BEGIN CERTIFICATE-----';
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** `pem` is null where there is no such file: public authorities vouch then. */
export type ServerCa = { ok: true; pem: string | null } | { ok: false; detail: string };

/** A file that others than root may have written, or that holds no certificate, is refused and never passed over. */
export function readServerCa(path: string = SERVER_CA_FILE, ownerUid: number | null = 0): ServerCa {
  const read = readTrusted(path, { maxBytes: MAX_BYTES, ownerUid, forbiddenMode: 0o022 });
  if (!read.ok)
    return read.reason === 'absent' ? { ok: true, pem: null } : { ok: false, detail: read.detail };
  const pem = new TextDecoder().decode(read.bytes);
  return isWhole(pem)
    ? { ok: true, pem }
    : {
        ok: false,
        detail: `${path} does not hold whole certificates in PEM: correct it, or remove it where a public CA vouches for the server`,
      };
}

/** Runtimes skip what they cannot read, and would then trust less than root has named. */
function isWhole(pem: string): boolean {
  const certificates = pem.match(CERTIFICATE) ?? [];
  if (certificates.length === 0 || certificates.length !== pem.split(BEGIN).length - 1) return false;
  try {
    return certificates.every((one) => new X509Certificate(one).raw.length > 0);
  } catch {
    return false;
  }
}
