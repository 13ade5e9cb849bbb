import { once } from 'node:events';
import { connect, createServer, type NetConnectOpts, type Socket } from 'node:net';

/** A loopback address in front of others, each of which can be taken out, as a health check does. */
export interface Balancer {
  readonly port: number;
  /** Cuts the connections to it and gives it no new ones. */
  takeOut(index: number): void;
  putBack(index: number): void;
  /** Keeps every connection open and passes nothing on in any direction, like a network that loses all packets. */
  hold(): void;
  /** Cuts the connections that were held and passes new ones on. */
  release(): void;
  stop(): Promise<void>;
}

/** New connections go to the backends in turn. */
export async function startBalancer(backends: readonly NetConnectOpts[]): Promise<Balancer> {
  const out = new Set<number>();
  const open = new Map<Socket, number>();
  let isHeld = false;
  let turn = 0;

  function next(): number | null {
    for (let tried = 0; tried < backends.length; tried++) {
      const index = turn++ % backends.length;
      if (!out.has(index)) return index;
    }
    return null;
  }
  function cut(index: number | null): void {
    for (const [socket, of] of open) if (index === null || of === index) socket.destroy();
  }

  const server = createServer((client) => {
    client.on('error', () => client.destroy());
    const index = next();
    const options = index === null ? undefined : backends[index];
    if (index === null || options === undefined) return void client.destroy();
    open.set(client, index);
    if (isHeld) return void client.pause().once('close', () => open.delete(client));
    const backend = connect(options);
    backend.on('error', () => client.destroy());
    client.pipe(backend).pipe(client);
    client.once('close', () => {
      open.delete(client);
      backend.destroy();
    });
    backend.once('close', () => client.destroy());
    client.on('held', () => {
      client.unpipe();
      backend.unpipe();
      client.pause();
      backend.pause();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the balancer has no port');
  return {
    port: address.port,
    takeOut: (index) => {
      out.add(index);
      cut(index);
    },
    putBack: (index) => void out.delete(index),
    hold: () => {
      isHeld = true;
      for (const socket of open.keys()) socket.emit('held');
    },
    release: () => {
      isHeld = false;
      cut(null);
    },
    stop: async () => {
      const closed = once(server, 'close');
      server.close();
      cut(null);
      await closed;
    },
  };
}
