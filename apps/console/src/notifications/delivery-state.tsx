import type { Delivery } from '@tidegate/protocol/notifications-api';
import { CircleCheck, CircleX, Clock } from 'lucide-react';
import type { ReactNode } from 'react';
import { Badge, type BadgeTone } from '../ui/badge.tsx';
import { STATE_WORDS } from './delivery-words.ts';

const LOOKS: Readonly<Record<Delivery['state'], { tone: BadgeTone; icon: ReactNode }>> = {
  waiting: { tone: 'accent', icon: <Clock /> },
  delivered: { tone: 'good', icon: <CircleCheck /> },
  dead: { tone: 'bad', icon: <CircleX /> },
};

export function DeliveryState({ state }: { state: Delivery['state'] }) {
  return (
    <Badge tone={LOOKS[state].tone} icon={LOOKS[state].icon}>
      {STATE_WORDS[state]}
    </Badge>
  );
}
