import type { AdvisoryCheck } from '@tidegate/protocol/health-api';
import { CircleCheck, CircleDashed, CircleHelp, Clock, Unplug } from 'lucide-react';
import type { ReactNode } from 'react';
import { Badge, type BadgeTone } from './badge.tsx';

const STATUSES: Readonly<Record<AdvisoryCheck, { tone: BadgeTone; icon: ReactNode; word: string }>> = {
  ok: { tone: 'good', icon: <CircleCheck />, word: 'up to date' },
  loading: { tone: 'unknown', icon: <CircleDashed />, word: 'loading' },
  stale: { tone: 'warn', icon: <Clock />, word: 'too old' },
  missing: { tone: 'bad', icon: <CircleHelp />, word: 'data is missing' },
  unreachable: { tone: 'bad', icon: <Unplug />, word: 'unreachable' },
  off: { tone: 'unknown', icon: <CircleHelp />, word: 'off: updates are not checked' },
};

/** Whether the advisories are good enough to judge by. */
export function AdvisoryBadge({ status }: { status: AdvisoryCheck }) {
  const { tone, icon, word } = STATUSES[status];
  return (
    <Badge tone={tone} icon={icon}>
      {word}
    </Badge>
  );
}
