import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { connect as shakeHands, TLSSocket } from 'node:tls';
import type { Answer } from './operator.ts';

/** A kept connection to one process of a server with workers. */
export type ProcessConnection = {
  /** SHA-256 of the certificate that the process presented; null without TLS. */
  readonly certificate: string | null;
  call(
    method: string,
    path: string,
    options?: { body?: unknown; token?: string; machineId?: string },
  ): Promise<Answer & { headers: IncomingHttpHeaders }>;
  close(): void;
};

/** More than enough: each connection reaches any of the processes. */
const ATTEMPTS_MAX = 200;

const TLS_NAME = 'tidegate.example';

export type From = {
  /** PEM of who signed the certificate; without it there is no TLS. */
  ca?: string;
  localAddress?: string;
};

/** Opens connections until the kernel gives one to this process, and keeps it. */
export async function connectTo(url: string, pid: number, from: From = {}): Promise<ProcessConnection> {
  const { hostname, port } = new URL(url);
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const { localAddress, ca } = from;
    const raw = connect({ host: hostname, port: Number(port), ...(localAddress && { localAddress }) });
    await once(raw, 'connect');
    const socket = ca === undefined ? raw : await encrypt(raw, ca);
    if (await isOf(socket, pid)) return keep(socket, ca === undefined ? hostname : TLS_NAME);
    socket.destroy();
  }
  throw new Error(`process ${pid} took none of ${ATTEMPTS_MAX} connections`);
}

async function encrypt(raw: Socket, ca: string): Promise<TLSSocket> {
  const socket = shakeHands({ socket: raw, ca, servername: TLS_NAME });
  await once(socket, 'secureConnect');
  return socket;
}

/** The processes that this one has started and that run still. */
export function childrenOf(pid: number): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return Number(parent) === pid && state !== 'Z' ? [Number(name)] : [];
    } catch {
      return []; // it has ended meanwhile
    }
  });
}

/** A connection has an owner once it is accepted: its process answers something on it. */
async function isOf(socket: Socket, pid: number): Promise<boolean> {
  socket.write('GET /api/health HTTP/1.1\r\nhost: story\r\n\r\n');
  await once(socket, 'data');
  const hex = (port: number | undefined) => (port ?? 0).toString(16).toUpperCase().padStart(4, '0');
  const ends = new RegExp(`:${hex(socket.remotePort)} [0-9A-F]+:${hex(socket.localPort)} `);
  const line = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .find((one) => ends.test(one));
  const inode = line?.trim().split(/\s+/)[9];
  return readdirSync(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`) === `socket:[${inode}]`);
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ''; // closed meanwhile
  }
}

function keep(socket: Socket, host: string): ProcessConnection {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  agent.createConnection = () => socket;
  return {
    certificate:
      socket instanceof TLSSocket ? (socket.getPeerX509Certificate()?.fingerprint256 ?? null) : null,
    async call(method, path, { body, token, machineId } = {}) {
      const sent = request({
        ...{ agent, host, method, path },
        headers: {
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(machineId !== undefined && { 'x-machine-id': machineId }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
      });
      const text = body === undefined ? '' : JSON.stringify(body);
      sent.setHeader('content-length', Buffer.byteLength(text));
      sent.end(text);
      const [response] = await once(sent, 'response');
      let answer = '';
      for await (const chunk of response) answer += chunk;
      const parsed: unknown = answer === '' ? null : JSON.parse(answer);
      return { status: response.statusCode, body: parsed, headers: response.headers };
    },
    close: () => socket.destroy(),
  };
}
