import { connect, type Socket } from 'node:net';
import { exchange } from './exchange.ts';

/** Sends requests over connections that are kept, as many as are needed at once; throws if one is refused. */
export function createKeptSockets(url: string) {
  const { hostname: host, port } = new URL(url);
  const idle: Socket[] = [];
  return {
    /** The body of the answer. */
    async ask(request: Buffer): Promise<string> {
      const socket = idle.pop() ?? connect({ host, port: Number(port), noDelay: true });
      const answer = await exchange(socket, request);
      idle.push(socket);
      return answer.toString('utf8', answer.indexOf('\r\n\r\n') + 4);
    },
    close(): void {
      for (const socket of idle) socket.destroy();
    },
  };
}
