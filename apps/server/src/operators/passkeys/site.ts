import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import { Refusal } from '../../platform/http/refusal.ts';

/** What a passkey is bound to: the RP id, and the origin that the browser must report (WebAuthn, section 5.1.2). */
export interface PasskeySite {
  rpId: string;
  origin: string;
}

/**
 * From SERVICE_BASE_URL, or else from the host of the request. Throws `conflict` where no browser makes passkeys: for
 * an IP address, and without https for any name except localhost.
 */
export function passkeySiteOf(
  request: Pick<FastifyRequest, 'protocol' | 'host'>,
  baseUrl: string | null,
): PasskeySite {
  const text = baseUrl ?? `${request.protocol}://${request.host}`;
  if (!URL.canParse(text))
    throw new Refusal('invalid_request', { detail: 'The header Host is not a valid host.' });
  const { hostname, origin, protocol } = new URL(text);
  if (ipaddr.isValid(hostname.replace(/^\[|\]$/g, ''))) {
    throw unfit('Passkeys need a host name, and this address has none.');
  }
  if (protocol !== 'https:' && hostname !== 'localhost' && !hostname.endsWith('.localhost')) {
    throw unfit('Passkeys need https, or localhost.');
  }
  return { rpId: hostname, origin };
}

function unfit(what: string): Refusal {
  return new Refusal('conflict', {
    detail: `${what} Open the console at its https:// name; behind a proxy, set SERVICE_BASE_URL to it.`,
  });
}
