import type { Envelope } from '@tidegate/protocol/documents';
import { sha256Hex } from '../platform/sha256.ts';

/** Names a signature in the log: SHA-256 of its bytes, so that another spelling of the same base64 changes nothing. */
export function signatureDigest({ sig }: Pick<Envelope['signatures'][number], 'sig'>): string {
  return sha256Hex(Buffer.from(sig, 'base64'));
}
