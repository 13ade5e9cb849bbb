import type { FastifyRequest } from 'fastify';
import type { OperatorCaller } from '../platform/http/access.ts';
import type { Guards } from '../platform/http/admit.ts';
import { addressKey, callerKey } from './keys.ts';
import { enforceForAll, enforceLimit, type Limiter } from './limiter.ts';

/** Routes without a credential: limited by address in the route's class. */
export function createPublicGuard(limiter: Limiter): Guards['public'] {
  return async (request, access) => {
    if (access.limit === null) return;
    await enforceForAll(limiter, { limitClass: access.limit, key: addressKey(request) });
  };
}

/** Routes open to anyone that recognize their operators: each operator and each address has a budget. */
export function createOpenGuard(
  limiter: Limiter,
  identify: (request: FastifyRequest) => Promise<OperatorCaller | null>,
): Guards['anyone'] {
  return async (request, access) => {
    const caller = await identify(request);
    enforceLimit(limiter, {
      limitClass: access.limit,
      key: caller ? callerKey(caller) : addressKey(request),
    });
    return caller;
  };
}
