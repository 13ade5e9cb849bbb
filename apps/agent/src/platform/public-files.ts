import { errorCode } from './file-layer.ts';
import { proxyOption, wayTo } from './proxy.ts';

export type Fetched<T> = { ok: true; value: T } | { ok: false; reason: string };

export interface PublicRequest {
  timeoutMs: number;
  /** The certificates that alone vouch for the server, in PEM; null: the public ones do. */
  ca: string | null;
}

/** Asks for a file that everybody may have: no redirects and no credentials. `use` reads the answer. */
export async function askPublicly<T>(
  url: string,
  { timeoutMs, ca }: PublicRequest,
  use: (response: Response) => Promise<Fetched<T>>,
): Promise<Fetched<T>> {
  const route = proxyOption(url);
  if (route === null) {
    return { ok: false, reason: `the proxy variable for ${url} names no http:// or https:// proxy` };
  }
  try {
    const response = await fetch(url, {
      ...{ ...wayTo(route, ca), redirect: 'error', headers: { 'accept-encoding': 'identity' } },
      signal: AbortSignal.timeout(timeoutMs),
    });
    return await use(response);
  } catch (error) {
    return { ok: false, reason: `${url} cannot be read (${errorCode(error)})` };
  }
}

/** The first bytes of an answer, at most `maxBytes`, and whether that is all of it. The rest is not read. */
export async function readStart(
  response: Response,
  maxBytes: number,
): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const chunks: Uint8Array[] = [];
  let left = maxBytes;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk.subarray(0, left));
    left -= chunk.length;
    if (left < 0) break; // which cancels the rest
  }
  return { bytes: Buffer.concat(chunks), isWhole: left >= 0 };
}
