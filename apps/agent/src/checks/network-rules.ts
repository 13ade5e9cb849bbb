import { type ProxyRoute, shownProxy } from '@tidegate/protocol/proxy-route';
import { CLOCK_DOUBT_MS } from '@tidegate/protocol/timeliness';
import { CLOCK_SKEW_MS } from '../platform/clock.ts';
import { SERVER_CA_FILE } from '../session/server-ca.ts';
import { doubtful, type Finding, faulty, sound } from './finding.ts';

const DAY_MS = 24 * 60 * 60_000;
/** A certificate that ends sooner is warned of. */
const CERTIFICATE_WARN_MS = 14 * DAY_MS;

/** What the first step of TLS showed, before anything was sent. */
export interface Handshake {
  /** The reason why the certificate is not trusted, as OpenSSL names it; null when it is. */
  distrust: string | null;
  validToMs: number;
}

export function judgeProxy(url: URL, route: ProxyRoute, hasHttpProxy: boolean): Finding {
  const check = 'proxy';
  switch (route.kind) {
    case 'invalid':
      return faulty(
        check,
        `${route.variable} names no http:// or https:// proxy: correct it, for example http://proxy.example:3128`,
      );
    case 'proxy':
      return sound(check, `${url.host} is reached through ${shownProxy(route.url)} (${route.variable})`);
    case 'direct':
      if (route.why === 'no variable' && url.protocol === 'https:' && hasHttpProxy) {
        return doubtful(
          check,
          'HTTP_PROXY is not used for https:// addresses: set HTTPS_PROXY as well if this host needs a proxy',
        );
      }
      return sound(check, `none for ${url.host} (${route.why})`);
  }
}

/** Why a server or proxy could not be connected to, and what to do. */
export function adviseConnection(code: string, target: string): string {
  switch (code) {
    case 'ECONNREFUSED':
      return `nothing listens at ${target}: check the port, and that the server runs`;
    case 'ETIMEDOUT':
    case 'TIMEOUT':
      return `${target} does not answer: a firewall may drop the packets, or a proxy is needed (HTTPS_PROXY)`;
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return `there is no route to ${target}: check this host's network and routes`;
    case 'ECONNRESET':
    case 'EPIPE':
      return `${target} ended the connection: check that this port speaks TLS, and what is between`;
    default:
      return `${target} cannot be connected to (${code})`;
  }
}

export function adviseName(code: string, host: string): string {
  return code === 'ENOTFOUND' || code === 'ENODATA'
    ? `no DNS server knows ${host}: check its spelling, and the servers in /etc/resolv.conf`
    : `${host} cannot be looked up (${code}): check that the servers in /etc/resolv.conf answer`;
}

export function adviseTunnel(status: number, proxy: string): string {
  if (status === 407)
    return `${proxy} wants a user name and a password: set HTTPS_PROXY to http://USER:PASSWORD@HOST:PORT`;
  if (status === 403) return `${proxy} forbids this server: have it allowed there, or name it in NO_PROXY`;
  return `${proxy} cannot reach the server (status ${status}): have the proxy's administrator look, or set NO_PROXY`;
}

/** `isOwnCa`: only the certificates of a file of root's may vouch for the server. */
export function judgeCertificate(
  { distrust, validToMs }: Handshake,
  { nowMs, isOwnCa }: { nowMs: number; isOwnCa: boolean },
): Finding {
  const check = 'certificate';
  if (distrust !== null) return faulty(check, adviseCertificate(distrust, isOwnCa));
  const leftMs = validToMs - nowMs;
  const until = new Date(validToMs).toISOString().slice(0, 10);
  if (leftMs <= 0)
    return faulty(check, `it expired on ${until}: renew it on the server, or correct this host's clock`);
  if (leftMs > CERTIFICATE_WARN_MS) return sound(check, `trusted, valid until ${until}`);
  const days = Math.floor(leftMs / DAY_MS);
  return doubtful(check, `it expires on ${until}, in ${days} days: renew it on the server before that`);
}

function adviseCertificate(distrust: string, isOwnCa: boolean): string {
  switch (distrust) {
    case 'CERT_HAS_EXPIRED':
      return "it has expired: renew it on the server, or correct this host's clock";
    case 'CERT_NOT_YET_VALID':
      return "it is not valid yet: this host's clock is probably behind, so set it";
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
    case 'HOSTNAME_MISMATCH':
      return 'it is for another name: use the name in the certificate, or have one made for this name';
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return isOwnCa
        ? `no certificate in ${SERVER_CA_FILE} vouches for it (${distrust}): put that of its CA there, or remove the file if a public CA issued it`
        : `this host does not trust who issued it (${distrust}): put the CA's certificate into ${SERVER_CA_FILE} (or name it in NODE_EXTRA_CA_CERTS), and have the server send its whole chain; a proxy that opens TLS has a CA of its own`;
    default:
      return `it is not trusted (${distrust})`;
  }
}

/** `serverMs` has whole seconds; `tookMs` is how long the answer took. */
export function judgeSkew(facts: { serverMs: number; nowMs: number; tookMs: number }): Finding {
  const check = 'clock';
  const { serverMs, nowMs, tookMs } = facts;
  const aheadMs = nowMs - serverMs;
  const apartMs = Math.max(0, Math.abs(aheadMs) - tookMs - 1_000);
  const side = aheadMs > 0 ? 'ahead of' : 'behind';
  const detail = `${Math.round(Math.abs(aheadMs) / 1_000)} s ${side} the server's`;
  const todo = 'set the clock here or there, and run NTP ("timedatectl set-ntp true")';
  const harm = aheadMs > 0 ? 'commands would be refused' : 'logs, timers and checks of certificates go wrong';
  if (apartMs > CLOCK_SKEW_MS) return faulty(check, `${detail}: ${harm}; ${todo}`);
  if (apartMs > CLOCK_DOUBT_MS) return doubtful(check, `${detail}: ${todo}`);
  return sound(check, `within ${CLOCK_DOUBT_MS / 1_000} s of the server's`);
}
