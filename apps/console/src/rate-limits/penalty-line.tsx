import type { RateLimits } from '@tidegate/protocol/rate-limits-api';
import { CircleCheck, Hourglass } from 'lucide-react';
import { Time } from '../ui/time.tsx';

/** Whether the budgets are halved, as in the first minute after a start. */
export function PenaltyLine({ penalty }: { penalty: RateLimits['startup_penalty'] }) {
  return (
    <p role="status" className="mb-4 flex items-center gap-2">
      {penalty.active ? (
        <>
          <Hourglass aria-hidden="true" className="size-4 shrink-0 text-warn" />
          <span>
            The server has just started, so all budgets are halved. This ends <Time at={penalty.ends_at} />.
          </span>
        </>
      ) : (
        <>
          <CircleCheck aria-hidden="true" className="size-4 shrink-0 text-good" />
          <span>
            Full budgets apply. They were halved after the start of the server, until{' '}
            <Time at={penalty.ends_at} />.
          </span>
        </>
      )}
    </p>
  );
}
