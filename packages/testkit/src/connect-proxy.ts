import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** One request that reached the proxy. */
export interface ProxyCall {
  /** CONNECT for a tunnel; another method for a request that is forwarded. */
  method: string;
  /** `host:port` of a tunnel, the whole URL of a forwarded request. */
  target: string;
  authorization: string | null;
}

export interface ConnectProxy {
  readonly url: string;
  /** The host and port alone, for a URL with credentials. */
  readonly authority: string;
  readonly seen: readonly ProxyCall[];
  stop(): Promise<void>;
}

export interface ConnectProxyOptions {
  /** Names that only the proxy knows, each with its port on the loopback interface. Other targets are refused. */
  hosts: Readonly<Record<string, number>>;
  /** `user:password` that every request must carry; the others are answered 407. */
  credentials?: string;
}

/** A forward proxy on the loopback interface: tunnels by CONNECT, and plain requests with a whole URL. */
export async function startConnectProxy({ hosts, credentials }: ConnectProxyOptions): Promise<ConnectProxy> {
  const seen: ProxyCall[] = [];
  const open = new Set<Duplex>();
  const isAdmitted = (request: IncomingMessage) => {
    const authorization = request.headers['proxy-authorization'] ?? null;
    seen.push({ method: request.method ?? '', target: request.url ?? '', authorization });
    const wanted = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`;
    return wanted === undefined || authorization === wanted;
  };
  const server = createServer((request, response) => {
    if (isAdmitted(request)) forward(request, response, hosts);
    else response.writeHead(407, { 'proxy-authenticate': 'Basic realm="proxy"' }).end();
  });
  server.on('connection', (socket) => void open.add(socket));
  server.on('connect', (request: IncomingMessage, client: Duplex, head: Buffer) => {
    client.on('error', () => client.destroy()); // the other side may leave at any time
    if (!isAdmitted(request)) {
      client.end(
        'HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic realm="proxy"\r\n\r\n',
      );
      return;
    }
    const port = hosts[request.url?.replace(/:\d+$/, '') ?? ''];
    if (port === undefined) client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    else open.add(tunnel(client, head, port));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.unref();
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  const authority = `127.0.0.1:${address.port}`;
  return {
    ...{ url: `http://${authority}`, authority, seen },
    stop: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

function tunnel(client: Duplex, head: Buffer, port: number): Socket {
  const upstream = connect(port, '127.0.0.1', () => {
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    if (head.length > 0) upstream.write(head);
    client.pipe(upstream).pipe(client);
  });
  upstream.on('error', () => client.destroy());
  client.on('close', () => upstream.destroy());
  return upstream;
}

function forward(
  request: IncomingMessage,
  response: ServerResponse,
  hosts: ConnectProxyOptions['hosts'],
): void {
  const url = URL.canParse(request.url ?? '') ? new URL(request.url ?? '') : null;
  const port = url === null ? undefined : hosts[url.hostname];
  if (url === null || port === undefined) {
    response.writeHead(502).end();
    return;
  }
  const { method, headers } = request;
  const path = `${url.pathname}${url.search}`;
  const upstream = send({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  upstream.on('error', () => response.destroy());
  request.pipe(upstream);
}
