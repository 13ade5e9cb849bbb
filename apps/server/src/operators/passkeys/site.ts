import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import { Refusal } from '../../platform/http/refusal.ts';

/** What a passkey is bound to: the RP id, and the origin that a browser must have said (WebAuthn, section 5.1.2). */
export interface PasskeySite {
  rpId: string;
  origin: string;
}

/**
 * Of SERVICE_BASE_URL, or else of the host that the request names. Throws `conflict` where no browser would make a
 * passkey: for an address instead of a name, and without https for any name but localhost.
 */
export function passkeySiteOf(
  request: Pick<FastifyRequest, 'protocol' | 'host'>,
  baseUrl: string | null,
): PasskeySite {
  const text = baseUrl ?? `${request.protocol}://${request.host}`;
  if (!URL.canParse(text)) throw new Refusal('invalid_request', { detail: 'The header Host is no host.' });
  const { hostname, origin, protocol } = new URL(text);
  if (ipaddr.isValid(hostname.replace(/^\[|\]$/g, ''))) {
    throw unfit('Passkeys are bound to a name and there is none in this address.');
  }
  if (protocol !== 'https:' && hostname !== 'localhost' && !hostname.endsWith('.localhost')) {
    throw unfit('Passkeys take https, or localhost.');
  }
  return { rpId: hostname, origin };
}

function unfit(what: string): Refusal {
  return new Refusal('conflict', {
    detail: `${what} Open the console by its https:// name; behind a proxy, set SERVICE_BASE_URL to that.`,
  });
}
