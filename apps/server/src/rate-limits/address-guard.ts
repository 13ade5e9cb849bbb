import type { Clock } from '../platform/clock.ts';
import type { Guards } from '../platform/http/admit.ts';
import type { RandomBytes } from '../platform/ids.ts';
import type { Budgets } from './budgets.ts';
import { addressKey } from './keys.ts';
import { createLimiter, enforceLimit, type Limiter, overLimit } from './limiter.ts';

/**
 * Refusals per address, as a multiple of the class budget: a whole site may be behind one address. For
 * renewals that is 600 a minute: at most 2 ms each, or 2 % of a core.
 */
export const REFUSALS_PER_BUDGET = 60;

export interface AddressGuardOptions {
  limiter: Limiter;
  budgets: Pick<Budgets, 'of'>;
  now: Clock;
  bootedAt: number;
  random: RandomBytes;
}

/** Routes whose credential may be in the body: the address is judged before the body is read. */
export function createAddressGuard({ limiter, budgets, ...rest }: AddressGuardOptions): Guards['own'] {
  const refusals = createLimiter({
    ...rest,
    budgets: {
      of: (limitClass) => {
        const budget = budgets.of(limitClass);
        return { ...budget, requests: budget.requests * REFUSALS_PER_BUDGET };
      },
    },
  });
  return {
    judge(request, access, reply) {
      const key = addressKey(request);
      if (access.counts === 'requests') {
        enforceLimit(limiter, { limitClass: access.limit, key, reply });
        return;
      }
      const seen = refusals.look(access.limit, key);
      if (!seen.ok) throw overLimit(seen);
    },
    countRefusal(request, access) {
      if (access.counts === 'refusals') refusals.take(access.limit, addressKey(request));
    },
  };
}
