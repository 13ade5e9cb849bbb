import ipaddr from 'ipaddr.js';
import type { Config } from './config.ts';

type Reach = Pick<Config, 'host' | 'tlsCert' | 'trustedProxies' | 'allowPlainHttp'>;

/**
 * What is wrong with listening there over plain HTTP, where other machines could read passwords and tokens on the way;
 * null where nothing is: on this machine alone, with TLS, behind a proxy that ends it, or because the operator says so.
 */
export function plainHttpFault({ host, tlsCert, trustedProxies, allowPlainHttp }: Reach): string | null {
  if (tlsCert !== null || trustedProxies.length > 0 || allowPlainHttp || isLoopback(host)) return null;
  const given = `SERVICE_HOST is ${JSON.stringify(host)}, which other machines reach, without TLS`;
  const ways = [
    'SERVICE_TLS_CERT and SERVICE_TLS_KEY',
    'SERVICE_TRUSTED_PROXIES with the proxy that ends TLS',
    'SERVICE_ALLOW_PLAIN_HTTP=true',
  ];
  return `${given}; allowed: a loopback address such as localhost, or one of ${ways.join(', ')}`;
}

/** A name other than localhost may mean any address. */
function isLoopback(host: string): boolean {
  if (host.toLowerCase() === 'localhost') return true;
  return ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback';
}
