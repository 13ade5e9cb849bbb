import ipaddr from 'ipaddr.js';
import type { Config } from './config.ts';

type Reach = Pick<Config, 'host' | 'tlsCert' | 'acmeDomains' | 'trustedProxies' | 'allowPlainHttp'>;

/**
 * The fault of listening there over plain HTTP, where other machines could read passwords and tokens in transit; null
 * when there is none: on loopback, with TLS, behind a proxy that terminates it, or when the operator allows it.
 */
export function plainHttpFault(reach: Reach): string | null {
  const { host, trustedProxies, allowPlainHttp } = reach;
  if (speaksTls(reach) || trustedProxies.length > 0 || allowPlainHttp || isLoopback(host)) return null;
  const given = `SERVICE_HOST is ${JSON.stringify(host)}, which other machines reach, without TLS`;
  const ways = [
    'SERVICE_TLS_CERT and SERVICE_TLS_KEY',
    'SERVICE_ACME_DOMAINS',
    'SERVICE_TRUSTED_PROXIES with the proxy that terminates TLS',
    'SERVICE_ALLOW_PLAIN_HTTP=true',
  ];
  return `${given}; allowed: a loopback address such as localhost, or one of ${ways.join(', ')}`;
}

/** Whether the server itself listens over TLS. */
export function speaksTls({ tlsCert, acmeDomains }: Pick<Config, 'tlsCert' | 'acmeDomains'>): boolean {
  return tlsCert !== null || acmeDomains.length > 0;
}

/** Any name except localhost may resolve to any address. */
export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === 'localhost') return true;
  return ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback';
}
