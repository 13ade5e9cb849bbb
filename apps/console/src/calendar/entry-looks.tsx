import type { CalendarEntry } from '@tidegate/protocol/calendar-api';
import { CalendarCheck, CalendarOff, Flag, Hourglass, LockOpen, Play } from 'lucide-react';
import type { ReactNode } from 'react';
import type { BadgeTone } from '../ui/badge.tsx';

/** Each kind has a colour, a shape and a word. */
export const LOOKS: Readonly<
  Record<CalendarEntry['kind'], { tone: BadgeTone; icon: ReactNode; word: string; means: string }>
> = {
  window: { tone: 'accent', icon: <CalendarCheck />, word: 'window', means: 'a policy may install' },
  blackout: { tone: 'warn', icon: <CalendarOff />, word: 'blackout', means: 'hosts are not changed' },
  policy_ends: {
    tone: 'unknown',
    icon: <Flag />,
    word: 'policy ends',
    means: 'it approves nothing any more',
  },
  hold_ends: { tone: 'unknown', icon: <LockOpen />, word: 'hold ends', means: 'packages may change again' },
  approvals_begin: { tone: 'good', icon: <Play />, word: 'due', means: 'hosts may fetch approvals' },
  approvals_expire: {
    tone: 'bad',
    icon: <Hourglass />,
    word: 'expire',
    means: 'approvals that no host fetched',
  },
};

export const KINDS = [
  'window',
  'blackout',
  'policy_ends',
  'hold_ends',
  'approvals_begin',
  'approvals_expire',
] as const satisfies readonly CalendarEntry['kind'][];
