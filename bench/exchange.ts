import type { Socket } from 'node:net';
import { answerLength } from './load.ts';

/** Sends a request; throws if the answer is not 200. */
export function exchange(socket: Socket, request: string | Buffer): Promise<void> {
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
      if (status === '200') resolve();
      else reject(new Error(`an answer other than 200: ${bytes.toString('latin1', 0, length)}`));
    });
    socket.write(request);
  });
}
