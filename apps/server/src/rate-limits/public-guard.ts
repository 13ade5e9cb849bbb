import type { Guards } from '../platform/http/server.ts';
import { addressKey } from './keys.ts';
import { enforceLimit, type Limiter } from './limiter.ts';

/** Routes without a credential: limited by address in the class that the route names. */
export function createPublicGuard(limiter: Limiter): Guards['public'] {
  return (request, access) => {
    if (access.limit !== null) enforceLimit(limiter, { limitClass: access.limit, key: addressKey(request) });
  };
}
