import { errorCode } from '../platform/file-layer.ts';
import { proxyOption, wayTo } from '../platform/proxy.ts';
import { REQUEST_TIMEOUT_MS } from './server-client.ts';

/** The first bytes of a public file of the server, as text; not one byte more is kept. Redirects are not followed. */
export async function fetchStart(
  url: string,
  { bytes, ca }: { bytes: number; ca: string | null },
): Promise<{ ok: true; text: string } | { ok: false; detail: string }> {
  const route = proxyOption(url);
  if (route === null) return { ok: false, detail: 'the proxy variable names no http:// or https:// proxy' };
  try {
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    const response = await fetch(url, { ...wayTo(route, ca), redirect: 'manual', signal });
    if (response.status !== 200 || response.body === null) {
      await response.body?.cancel();
      return { ok: false, detail: `${response.status} for ${url}` };
    }
    const start = Buffer.alloc(bytes);
    let length = 0;
    for await (const chunk of response.body) {
      length += Buffer.from(chunk).copy(start, length);
      if (length === bytes) break; // which cancels the rest
    }
    return { ok: true, text: start.toString('utf8', 0, length) };
  } catch (error) {
    return { ok: false, detail: `no answer for ${url} (${errorCode(error)})` };
  }
}
