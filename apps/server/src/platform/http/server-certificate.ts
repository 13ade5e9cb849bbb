import type { Server } from 'node:tls';

/** The oldest version of TLS that the server speaks. */
export const LEAST_TLS_VERSION = 'TLSv1.2';

/** The certificate of the server, which may change while it listens. */
export interface ServerCertificate {
  /** Chain and key in PEM; null while there is none, and then every handshake fails. */
  current(): { cert: string; key: string } | null;
  /** Called once, before the server listens. */
  attach(server: Server): void;
}
