import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { startServerProcess } from '../processes.ts';
import type { Target } from '../target.ts';

export const name = 'bare node:http that reads the body';

/** An example of an adapter, and the floor of every check-in in Node: the body is read, and an answer of its size sent. */
export async function start(agents: number): Promise<Target> {
  const server = await startServerProcess(join(import.meta.dirname, 'bare-server.ts'));
  const body = JSON.stringify({ agent_version: '1.0.0', boot_id: randomUUID(), uptime_seconds: 86_400 });
  const requests = Array.from({ length: agents }, (_, n) => {
    const head = [
      `POST /check-in/${n} HTTP/1.1`,
      'host: bench',
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(body)}`,
    ];
    return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
  });
  return { ...server, requests };
}
