import { ForbiddenDestination } from '../../platform/destinations.ts';

export interface ConnectionFault {
  readonly reason: string;
  readonly isPermanent: boolean;
}

/** In words, by the codes of Node, OpenSSL and undici. */
const REASONS: Readonly<Record<string, (host: string) => string>> = {
  ENOTFOUND: (host) => `The name ${host} was not found in DNS. Check its spelling.`,
  EAI_AGAIN: (host) => `DNS did not answer when asked for ${host}.`,
  ECONNREFUSED: (host) => `${host} refused the connection. Check the port, and that the service runs.`,
  ECONNRESET: (host) => `${host} closed the connection.`,
  EPIPE: (host) => `${host} closed the connection.`,
  UND_ERR_SOCKET: (host) => `${host} closed the connection.`,
  EHOSTUNREACH: (host) => `No route leads to ${host}.`,
  ENETUNREACH: (host) => `No route leads to ${host}.`,
  CERT_HAS_EXPIRED: (host) => `The TLS certificate of ${host} has expired.`,
  CERT_NOT_YET_VALID: (host) =>
    `The TLS certificate of ${host} is not valid yet. Check the clock of this server.`,
  ERR_TLS_CERT_ALTNAME_INVALID: (host) => `The TLS certificate of ${host} is for another name.`,
  EPROTO: (host) => `${host} does not speak TLS on this port.`,
  ERR_SSL_WRONG_VERSION_NUMBER: (host) => `${host} does not speak TLS on this port.`,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: (host) => `${host} does not speak TLS on this port.`,
  HPE_INVALID_CONSTANT: (host) => `${host} does not answer in HTTP on this port.`,
  UND_ERR_RES_EXCEEDED_MAX_SIZE: (host) => `${host} sent too long an answer.`,
  ...sameReason(
    [
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'UNABLE_TO_GET_ISSUER_CERT',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    ],
    (host) => `The TLS certificate of ${host} is from an authority that this server does not trust.`,
  ),
  ...sameReason(
    [
      'UND_ERR_CONNECT_TIMEOUT',
      'UND_ERR_HEADERS_TIMEOUT',
      'UND_ERR_BODY_TIMEOUT',
      'ETIMEDOUT',
      'EABORT',
      'ABORT_ERR',
      'TimeoutError',
    ],
    (host) => `${host} did not answer in time.`,
  ),
};

/** Why a connection failed; `host` is shown, so it must hold no secret. */
export function connectionFault(error: unknown, host: string): ConnectionFault {
  const forbidden = chainOf(error).find((link) => link instanceof ForbiddenDestination);
  if (forbidden) return { reason: `${forbidden.message}.`, isPermanent: true };
  for (const code of chainOf(error).flatMap(codesOf)) {
    const words = REASONS[code];
    if (words) return { reason: words(host), isPermanent: false };
  }
  const [code = 'no code'] = chainOf(error).flatMap(codesOf);
  return { reason: `The connection to ${host} failed (${code}).`, isPermanent: false };
}

/** The error and its causes, and those of the addresses that were tried. */
function chainOf(error: unknown): unknown[] {
  if (!(error instanceof Error)) return [];
  const tried = error instanceof AggregateError ? error.errors : [];
  return [error, ...tried.flatMap(chainOf), ...chainOf(error.cause)];
}

function codesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return [];
  const codes = ['originalCode' in error && error.originalCode, 'code' in error && error.code, error.name];
  return codes.filter((code) => typeof code === 'string');
}

function sameReason(codes: readonly string[], words: (host: string) => string) {
  return Object.fromEntries(codes.map((code) => [code, words]));
}
