import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { checkServerIdentity, connect as connectTls } from 'node:tls';
import { shownProxy } from '@tidegate/protocol/proxy-route';
import { errorCode } from '../platform/file-layer.ts';
import { adviseConnection, adviseTunnel, type Handshake } from './network-rules.ts';

const CONNECT_TIMEOUT_MS = 10_000;
/** Largest head of a proxy's answer. */
const HEAD_MAX_BYTES = 16 * 1024;

export type HandshakeOutcome = { ok: true; handshake: Handshake } | { ok: false; detail: string };

/** Connects to an https:// server, through the proxy if there is one, and looks at its certificate; sends nothing. */
export async function shakeHands(
  url: URL,
  {
    proxy,
    ca = null,
    timeoutMs = CONNECT_TIMEOUT_MS,
  }: { proxy: string | null; ca?: string | null; timeoutMs?: number },
): Promise<HandshakeOutcome> {
  const port = Number(url.port || '443');
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const target = `${url.hostname}:${port}`;
  const way = proxy === null ? { host, port } : placeOf(new URL(proxy));
  const reached = proxy === null ? target : shownProxy(proxy);
  const opened = await open(way, timeoutMs);
  if (!opened.ok) return { ok: false, detail: adviseConnection(opened.code, reached) };
  const { socket } = opened;
  try {
    if (proxy !== null) {
      const status = await askForTunnel(socket, { target, proxy: new URL(proxy), timeoutMs });
      if (typeof status === 'string') return { ok: false, detail: adviseConnection(status, reached) };
      if (status !== 200) return { ok: false, detail: adviseTunnel(status, reached) };
    }
    return await lookAtCertificate(socket, { host, target, ca, timeoutMs });
  } finally {
    socket.destroy();
  }
}

interface Place {
  host: string;
  port: number;
  isTls?: boolean;
}

function placeOf(proxy: URL): Place {
  const isTls = proxy.protocol === 'https:';
  const host = proxy.hostname.replace(/^\[|\]$/g, '');
  return { host, port: Number(proxy.port || (isTls ? '443' : '80')), isTls };
}

type Opened = { ok: true; socket: Socket } | { ok: false; code: string };

function open({ host, port, isTls = false }: Place, timeoutMs: number): Promise<Opened> {
  return new Promise((resolve) => {
    const done = () => resolve({ ok: true, socket });
    const servername = isIP(host) ? '' : host;
    const socket = isTls ? connectTls({ host, port, servername }, done) : connectTcp({ host, port }, done);
    socket.on('error', (error) => resolve({ ok: false, code: errorCode(error) }));
    whenLate(socket, timeoutMs, () => resolve({ ok: false, code: 'TIMEOUT' }));
  });
}

/** The proxy's status, or the code of what went wrong. RFC 9110 section 9.3.6. */
function askForTunnel(
  socket: Socket,
  { target, proxy, timeoutMs }: { target: string; proxy: URL; timeoutMs: number },
): Promise<number | string> {
  return new Promise((resolve) => {
    let head = '';
    const onData = (chunk: Buffer) => {
      head += chunk.toString('latin1');
      if (!head.includes('\r\n\r\n') && head.length < HEAD_MAX_BYTES) return;
      socket.off('data', onData);
      const status = /^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1];
      resolve(status === undefined ? 'not a proxy' : Number(status));
    };
    socket.on('data', onData);
    socket.on('error', (error) => resolve(errorCode(error)));
    socket.on('close', () => resolve('ECONNRESET'));
    whenLate(socket, timeoutMs, () => resolve('TIMEOUT'));
    const pair = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
    const isNamed = proxy.username !== '' || proxy.password !== '';
    const own = isNamed ? `Proxy-Authorization: Basic ${Buffer.from(pair).toString('base64')}\r\n` : '';
    socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${own}\r\n`);
  });
}

function lookAtCertificate(
  socket: Socket,
  { host, target, ca, timeoutMs }: { host: string; target: string; ca: string | null; timeoutMs: number },
): Promise<HandshakeOutcome> {
  return new Promise((resolve) => {
    const fail = (code: string) => resolve({ ok: false, detail: adviseConnection(code, target) });
    const servername = isIP(host) ? '' : host;
    // Nothing is sent, so a certificate that is not trusted may be looked at and explained.
    const tls = connectTls(
      { socket, servername, rejectUnauthorized: false, ...(ca === null ? {} : { ca }) },
      () => {
        const certificate = tls.getPeerCertificate();
        const other = checkServerIdentity(host, certificate);
        const distrust =
          tls.authorizationError ?? (other === undefined ? null : 'ERR_TLS_CERT_ALTNAME_INVALID');
        const validToMs = Date.parse(certificate.valid_to);
        tls.destroy();
        resolve({
          ok: true,
          handshake: { distrust: distrust === null ? null : codeOf(distrust), validToMs },
        });
      },
    );
    tls.on('error', (error) => fail(errorCode(error)));
    whenLate(tls, timeoutMs, () => fail('TIMEOUT'));
  });
}

/** Node's types say Error; both runtimes give the code as text. */
function codeOf(error: unknown): string {
  return typeof error === 'string' ? error : errorCode(error);
}

function whenLate(socket: Socket, timeoutMs: number, act: () => void): void {
  socket.setTimeout(timeoutMs, () => {
    act();
    socket.destroy();
  });
}
