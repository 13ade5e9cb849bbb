import type { Policy } from '@tidegate/protocol/policies-api';
import { Badge, type BadgeTone } from '../ui/badge.tsx';
import { Time } from '../ui/time.tsx';
import { ENDS, STATES } from './policy-rules.ts';

const TONES: Readonly<Record<Policy['state'], BadgeTone>> = {
  in_force: 'good',
  suspended: 'warn',
  expired: 'neutral',
  revoked: 'neutral',
  replaced: 'neutral',
};

/** Whether a policy is in force; if not, why, and since when. */
export function PolicyState({
  policy: { state, end_reason, ended_at, ended_by, ends_at },
}: {
  policy: Policy;
}) {
  return (
    <>
      <Badge tone={TONES[state]}>{STATES[state]}</Badge>
      {state !== 'in_force' && (
        <>
          {' '}
          <Time at={ended_at ?? ends_at} />
        </>
      )}
      {state === 'revoked' && (
        <p className="text-muted">
          by <bdi>{ended_by}</bdi>
        </p>
      )}
      {state === 'suspended' && end_reason && <p className="text-muted">{ENDS[end_reason]}</p>}
    </>
  );
}
