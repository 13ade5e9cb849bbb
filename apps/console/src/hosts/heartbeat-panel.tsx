import { useQuery } from '@tanstack/react-query';
import type { HeartbeatStatus, Heartbeats } from '@tidegate/protocol/overview-api';
import { oneQuery } from '../api/queries.ts';
import { Panel } from '../ui/page.tsx';
import { type SlotKind, SlotStrip } from '../ui/slot-strip.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';

const KINDS: Readonly<Record<HeartbeatStatus, SlotKind>> = {
  seen: { word: 'seen', shape: <rect width="8" height="24" rx="2" className="fill-good" /> },
  late: {
    word: 'late',
    shape: <rect y="10" width="8" height="14" rx="2" className="fill-warn" />,
  },
  missed: {
    word: 'missed',
    shape: <path d="M1 8 L7 16 M7 8 L1 16" className="fill-none stroke-bad stroke-2" />,
  },
  unknown: { word: 'not known', shape: <circle cx="4" cy="12" r="2" className="fill-unknown" /> },
};

/** The check-ins of the last 24 hours, in slots of half an hour. */
export function HeartbeatPanel({ id }: { id: string }) {
  const { data, error, isPending, refetch } = useQuery(
    oneQuery<Heartbeats>('hosts', `/api/v1/agents/${id}/heartbeats`),
  );
  return (
    <Panel title="The last 24 hours" aside={data && <Aside at={data.as_of} />}>
      {error && <ErrorPanel error={error} retry={() => void refetch()} />}
      {isPending && !error && <Skeleton rows={1} />}
      {data && data.slots.length > 0 && (
        <SlotStrip
          label={`Check-ins of the last 24 hours in ${data.slots.length} slots of ${data.slot_minutes} minutes`}
          kinds={KINDS}
          slots={data.slots.map(({ from, status }) => ({ kind: status, title: slotTitle(from) }))}
        />
      )}
    </Panel>
  );
}

function Aside({ at }: { at: string }) {
  return (
    <span className="text-muted">
      as of <Time at={at} />
    </span>
  );
}

/** `2026-01-01 10:30 UTC`. */
function slotTitle(from: string): string {
  return `${from.slice(0, 16).replace('T', ' ')} UTC`;
}
