import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { SIGNATURE_FILE, SIGNATURE_MAX_BYTES, SUMS_FILE, SUMS_MAX_BYTES } from '@tidegate/signing/release';
import { askPublicly, type Fetched, readStart } from '../../platform/public-files.ts';
import type { OwnServer } from '../ecosystem.ts';

const SMALL_TIMEOUT_MS = 30_000;
/** Enough for 60 MB over a slow line. */
const ARCHIVE_TIMEOUT_MS = 60 * 60_000;
const CREATE_NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

export interface ReleaseProof {
  sums: Uint8Array;
  signature: Uint8Array;
}

export function addressOf({ url }: OwnServer, name: string): string {
  return `${url}/agents/${name}`;
}

/** The signed checksums that the server has; null where it serves no agents, or unsigned ones. */
export async function fetchProof(server: OwnServer): Promise<Fetched<ReleaseProof | null>> {
  const sums = await fetchSmall(addressOf(server, SUMS_FILE), { ca: server.ca, maxBytes: SUMS_MAX_BYTES });
  if (!sums.ok) return sums;
  const signature = await fetchSmall(addressOf(server, SIGNATURE_FILE), {
    ca: server.ca,
    maxBytes: SIGNATURE_MAX_BYTES,
  });
  if (!signature.ok) return signature;
  if (sums.value === null || signature.value === null) return { ok: true, value: null };
  return { ok: true, value: { sums: sums.value, signature: signature.value } };
}

/** The size that the server says a file has; nothing of it is read. */
export async function fetchSize(url: string, ca: string | null): Promise<Fetched<number>> {
  return askPublicly(url, { ca, timeoutMs: SMALL_TIMEOUT_MS }, async (response) => {
    await response.body?.cancel();
    const size = Number(response.headers.get('content-length') ?? 'absent');
    if (response.ok && Number.isSafeInteger(size)) return { ok: true, value: size };
    return { ok: false, reason: `${url} has no size (${response.status})` };
  });
}

/** Writes a file of exactly this size to a new path. */
export async function fetchArchive(
  url: string,
  { to, sizeBytes, ca }: { to: string; sizeBytes: number; ca: string | null },
) {
  return askPublicly<null>(url, { ca, timeoutMs: ARCHIVE_TIMEOUT_MS }, async (response) => {
    if (response.status !== 200 || response.body === null) {
      return { ok: false, reason: `${url} answers ${response.status}` };
    }
    const file = await open(to, CREATE_NEW, 0o644);
    try {
      let length = 0;
      for await (const chunk of response.body) {
        length += chunk.length;
        if (length > sizeBytes)
          return { ok: false, reason: `artifact_mismatch: ${url} is larger than approved` };
        await file.writeFile(chunk);
      }
      return { ok: true, value: null };
    } finally {
      await file.close();
    }
  });
}

async function fetchSmall(
  url: string,
  { maxBytes, ca }: { maxBytes: number; ca: string | null },
): Promise<Fetched<Uint8Array | null>> {
  return askPublicly(url, { ca, timeoutMs: SMALL_TIMEOUT_MS }, async (response) => {
    if (response.status === 404) return { ok: true, value: null };
    if (response.status !== 200) return { ok: false, reason: `${url} answers ${response.status}` };
    const { bytes, isWhole } = await readStart(response, maxBytes);
    if (isWhole) return { ok: true, value: bytes };
    return { ok: false, reason: `${url} is larger than ${maxBytes} bytes` };
  });
}
