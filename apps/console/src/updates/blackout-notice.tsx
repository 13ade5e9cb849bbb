import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CalendarOff } from 'lucide-react';
import { withheldQuery } from '../hosts/withheld-query.ts';
import { Time } from '../ui/time.tsx';
import type { UpdateView } from './update-view.ts';

/** Says that a blackout withholds the update, whoever approves it; once it is approved its progress says so. */
export function BlackoutNotice({ update }: { update: Pick<UpdateView, 'agent_id' | 'state'> }) {
  const { agent_id: agentId, state } = update;
  const isWaiting = state === 'pending' || state === 'awaiting_plan';
  const { data } = useQuery({ ...withheldQuery(agentId), enabled: isWaiting });
  const blackout = isWaiting ? data?.blackout : null;
  if (!blackout) return null;
  return (
    <p role="status" className="flex gap-2 rounded-md bg-warn-soft px-3 py-2 text-warn">
      <CalendarOff aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
      <span>
        The blackout <Link to="/blackouts">{blackout.name}</Link> withholds it from the host; ends{' '}
        <Time at={blackout.until} />. It can be approved now, and is delivered afterwards.
      </span>
    </p>
  );
}
