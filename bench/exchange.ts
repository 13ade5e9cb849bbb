import type { Socket } from 'node:net';
import { answerLength } from './load.ts';

/** Sends a request and returns the answer with its header; throws if it is no success. */
export function exchange(socket: Socket, request: string | Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let bytes: Buffer = Buffer.alloc(0);
    const onClose = () => reject(new Error('the server closed a connection'));
    socket.once('close', onClose);
    socket.on('data', function read(chunk: Buffer) {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
      const length = answerLength(bytes);
      if (length === null || bytes.length < length) return;
      socket.off('data', read);
      socket.off('close', onClose);
      const status = bytes.toString('latin1', 9, 12);
      if (status.startsWith('20')) resolve(bytes.subarray(0, length));
      else reject(new Error(`refused: ${bytes.toString('latin1', 0, length)}`));
    });
    socket.write(request);
  });
}
