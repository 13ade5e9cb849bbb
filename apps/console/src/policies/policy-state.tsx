import type { Policy } from '@tidegate/protocol/policies-api';
import { Badge } from '../ui/badge.tsx';
import { Time } from '../ui/time.tsx';
import { runText } from './policy-words.ts';

/** Whether a policy runs. */
export function PolicyState({ policy }: { policy: Policy }) {
  switch (policy.state) {
    case 'in_force':
      return (
        <>
          in force, ends <Time at={policy.ends_at} />
        </>
      );
    case 'suspended':
      return (
        <>
          <Badge tone="warn">suspended</Badge> <Time at={policy.ended_at} />
        </>
      );
    case 'expired':
    case 'revoked':
    case 'replaced':
      return (
        <>
          <Badge tone="neutral">{policy.state}</Badge> <Time at={policy.ended_at ?? policy.ends_at} />
        </>
      );
  }
}

/** When a policy ran last, and what it did. */
export function LastRun({ run }: { run: Policy['last_run'] }) {
  if (!run) return <span className="text-muted">never</span>;
  return (
    <>
      <Time at={run.at} />: {runText(run)}
    </>
  );
}
