import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { isolated } from '@tidegate/protocol/isolated';
import type { RebootSlot, SlotGroup } from '@tidegate/protocol/reboots-api';
import { Check, LockOpen, OctagonAlert, Power } from 'lucide-react';
import type { ReactNode } from 'react';
import { oneQuery } from '../api/queries.ts';
import { Badge, type BadgeTone } from '../ui/badge.tsx';
import { IconButton } from '../ui/button.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Lasting, Time } from '../ui/time.tsx';
import { groupText, SLOTS, slotsText } from './reboot-words.ts';

const LOOKS: Readonly<Record<RebootSlot['state'], readonly [BadgeTone, ReactNode, string]>> = {
  held: ['accent', <Power key="icon" />, 'going down'],
  proving: ['accent', <Check key="icon" />, 'back, waits for its probes'],
  failed: ['bad', <OctagonAlert key="icon" />, 'failed'],
};

/** How many hosts of each group may be down at once, and which are. */
export function SlotGroups({ onRelease }: { onRelease: ((slot: RebootSlot) => void) | null }) {
  const { data, error, refetch } = useQuery(oneQuery<{ items: readonly SlotGroup[] }>('commands', SLOTS));
  if (error) return <ErrorPanel error={error} retry={() => void refetch()} />;
  if (!data) return <Skeleton as="panels" rows={2} />;
  if (data.items.length === 0) return <p className="text-muted">No group has had a reboot yet.</p>;
  return (
    <ul className="grid grid-cols-[repeat(auto-fit,minmax(min(20rem,100%),1fr))] gap-4">
      {data.items.map((group) => (
        <Group key={group.group ?? ''} group={group} onRelease={onRelease} />
      ))}
    </ul>
  );
}

function Group({ group, onRelease }: { group: SlotGroup; onRelease: ((slot: RebootSlot) => void) | null }) {
  const { is_halted: isHalted, slots } = group;
  return (
    <li className={`rounded-xl border bg-surface p-4 ${isHalted ? 'border-bad/40' : 'border-line'}`}>
      <h3 className="flex flex-wrap items-center gap-2 font-semibold break-words">
        {groupText(group.group)}
        {isHalted && (
          <Badge
            tone="bad"
            icon={<OctagonAlert />}
            title="No other host of it is rebooted until failed ones are released"
          >
            halted
          </Badge>
        )}
      </h3>
      <p className="mt-1">{slotsText(group)}.</p>
      {slots.length > 0 && (
        <ul className="mt-2 space-y-1.5">
          {slots.map((slot) => (
            <Slot key={slot.id} slot={slot} onRelease={onRelease} />
          ))}
        </ul>
      )}
    </li>
  );
}

function Slot({ slot, onRelease }: { slot: RebootSlot; onRelease: ((slot: RebootSlot) => void) | null }) {
  const { state, hostname, agent_id: id, taken_at: takenAt, ends_at: endsAt, detail } = slot;
  const [tone, icon, word] = LOOKS[state];
  return (
    <li className="flex items-start justify-between gap-2">
      <span className="min-w-0">
        <span className="flex flex-wrap items-center gap-x-2">
          {id === null ? (
            <span className="font-medium break-all">
              <bdi>{hostname}</bdi> <span className="font-normal text-muted">by FleetLock</span>
            </span>
          ) : (
            <Link to="/hosts/$id" params={{ id }} className="font-medium break-words">
              {hostname}
            </Link>
          )}
          <Badge tone={tone} icon={icon}>
            {word}
          </Badge>
        </span>
        <span className="block text-muted">
          <Lasting since={takenAt} />
          {state !== 'failed' && (
            <>
              , fails <Time at={endsAt} />
            </>
          )}
          {detail !== null && `: ${isolated(detail)}`}
        </span>
      </span>
      {state === 'failed' && onRelease && (
        <IconButton
          word="Release"
          label={`Release the slot of ${isolated(hostname)}`}
          onClick={() => onRelease(slot)}
        >
          <LockOpen aria-hidden="true" className="size-4" />
        </IconButton>
      )}
    </li>
  );
}
