import type { Clock } from '../platform/clock.ts';
import type { Guards } from '../platform/http/admit.ts';
import type { RandomBytes } from '../platform/ids.ts';
import type { Budgets } from './budgets.ts';
import { addressKey } from './keys.ts';
import { createLimiter, enforceLimit, type Limiter, overLimit } from './limiter.ts';

/**
 * How many times the budget of the class one address may be refused: behind an address there may be a whole site.
 * For renewals that is 600 a minute: at most 2 ms each, or 2 % of a core.
 */
export const REFUSALS_PER_BUDGET = 60;

export interface AddressGuardOptions {
  limiter: Limiter;
  budgets: Pick<Budgets, 'of'>;
  now: Clock;
  bootedAt: number;
  random: RandomBytes;
}

/** Routes that check their own credential, whose body may hold it: the address is judged before the body is read. */
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
