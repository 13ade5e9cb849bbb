import { createSecureContext } from 'node:tls';
import { errorCode, readTrusted } from '../platform/file-layer.ts';

/** Root's: the certificates that alone vouch for the server, in PEM. */
export const SERVER_CA_FILE = '/etc/tidegate/server-ca.pem';
const MAX_BYTES = 256 * 1024;

/** `pem` is null where there is no such file: public authorities vouch then. */
export type ServerCa = { ok: true; pem: string | null } | { ok: false; detail: string };

/** A file that others than root may have written, or that holds no certificate, is refused and never passed over. */
export function readServerCa(path: string = SERVER_CA_FILE, ownerUid: number | null = 0): ServerCa {
  const read = readTrusted(path, { maxBytes: MAX_BYTES, ownerUid, forbiddenMode: 0o022 });
  if (!read.ok)
    return read.reason === 'absent' ? { ok: true, pem: null } : { ok: false, detail: read.detail };
  const pem = new TextDecoder().decode(read.bytes);
  const wrong = `${path} holds no certificates in PEM: correct it, or remove it where a public CA vouches for the server`;
  if (!pem.includes('-----BEGIN CERTIFICATE-----')) return { ok: false, detail: wrong };
  try {
    createSecureContext({ ca: pem });
    return { ok: true, pem };
  } catch (error) {
    return { ok: false, detail: `${wrong} (${errorCode(error)})` };
  }
}
