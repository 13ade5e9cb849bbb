import type { Server } from 'node:tls';

/** The oldest version of TLS that the server speaks. */
export const LEAST_TLS_VERSION = 'TLSv1.2';

/** The certificate of the server, which may change while it listens. */
export interface ServerCertificate {
  /**
   * Called once, before the server listens: gives it the certificate, and every later one. Without a certificate every
   * handshake fails.
   */
  attach(server: Server): void;
}
