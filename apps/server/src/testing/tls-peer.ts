import { once } from 'node:events';
import { type ConnectionOptions, connect } from 'node:tls';

/** The SHA-256 of the certificate presented on this port of 127.0.0.1, or the code of the failed handshake. */
export async function presentedOn(port: number, options: ConnectionOptions = {}): Promise<string> {
  const socket = connect({
    ...{ port, host: '127.0.0.1', servername: 'tidegate.example', rejectUnauthorized: false },
    ...options,
  });
  try {
    await once(socket, 'secureConnect');
    return socket.getPeerX509Certificate()?.fingerprint256 ?? 'none';
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error);
  } finally {
    socket.destroy();
  }
}
