import { connect } from 'node:net';

export interface Answer {
  /** Of HTTP, or what happened to the connection. */
  status: string;
  body: string;
  retryAfterMs: number | null;
  isSilent: boolean;
}

interface Question {
  host: string;
  port: number;
  /** The agent's own, of the loopback network: one address has too few ports for a fleet. */
  address: string;
  request: Buffer;
  timeoutMs: number;
}

/** One request on a connection of its own. */
export function askAlone(one: Question): Promise<Answer> {
  return new Promise((resolve) => {
    const socket = connect({ host: one.host, port: one.port, localAddress: one.address, noDelay: true });
    const timer = setTimeout(() => end('timeout'), one.timeoutMs);
    let text = '';
    let isOver = false;
    function end(fault: string): void {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      socket.destroy();
      const isWhole = text.includes('\r\n\r\n');
      const retryAfter = /^retry-after: (\d+)/im.exec(text)?.[1];
      resolve({
        status: isWhole ? text.slice(9, 12) : fault,
        body: text.slice(text.indexOf('\r\n\r\n') + 4),
        retryAfterMs: retryAfter === undefined ? null : Number(retryAfter) * 1_000,
        isSilent: !isWhole,
      });
    }
    socket.setEncoding('latin1');
    socket.once('connect', () => socket.write(one.request));
    socket.on('data', (chunk: string) => {
      text += chunk;
      const headEnd = text.indexOf('\r\n\r\n');
      const length = Number(/^content-length: (\d+)/im.exec(text)?.[1] ?? Number.NaN);
      if (headEnd > 0 && text.length >= headEnd + 4 + length) end('whole');
    });
    socket.once('end', () => end('no answer'));
    socket.once('error', (error) => end('code' in error ? String(error.code) : error.name));
  });
}

/** An address of its own for each host. */
export function addressOf(index: number): string {
  return `127.${1 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;
}
