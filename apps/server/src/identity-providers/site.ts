import type { FastifyRequest } from 'fastify';
import { Refusal } from '../platform/http/refusal.ts';

/** Where browsers reach the console: by SERVICE_BASE_URL, or else by the host of the request. */
export function originOf(request: Pick<FastifyRequest, 'protocol' | 'host'>, baseUrl: string | null): string {
  const text = baseUrl ?? `${request.protocol}://${request.host}`;
  if (URL.canParse(text)) return new URL(text).origin;
  throw new Refusal('invalid_request', { detail: 'The header Host is not a valid host.' });
}
