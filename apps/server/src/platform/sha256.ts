import { createHash } from 'node:crypto';

/** In lower-case hex; a text is encoded as UTF-8. */
export function sha256Hex(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}
