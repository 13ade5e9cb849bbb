import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import type { OperatorCaller } from '../platform/http/access.ts';

/**
 * The key of a caller without an identity. `request.ip` is the socket's address; X-Forwarded-For counts only
 * from SERVICE_TRUSTED_PROXIES, which the HTTP server gets as an option (reading 8).
 */
export function addressKey(request: Pick<FastifyRequest, 'ip'>): string {
  return keyOfAddress(request.ip);
}

/** The key of an operator; an API token has a budget separate from its creator's. */
export function callerKey({ operatorId, token }: Pick<OperatorCaller, 'operatorId' | 'token'>): string {
  return token ? `token:${token.id}` : operatorId;
}

/** One host can use a whole /64 of IPv6, so that is the key; IPv4 in IPv6 is IPv4. */
export function keyOfAddress(address: string): string {
  const text = address.split('%', 1)[0] ?? '';
  // A trusted proxy may pass on any text: all invalid texts share one key.
  if (!ipaddr.isValid(text)) return 'unknown';
  const parsed = ipaddr.process(text);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  const network = parsed.toByteArray().slice(0, 8);
  return `${Buffer.from(network).toString('hex')}/64`;
}
