import type { AgentItem } from '@tidegate/protocol/agents-api';
import { CircleCheck, CircleDashed, CircleX, Copy, Link2Off, RotateCw } from 'lucide-react';
import type { ReactNode } from 'react';
import { Badge, type BadgeTone } from '../ui/badge.tsx';
import { type Presence, presenceOf } from './host-rules.ts';

const PRESENCES: Readonly<Record<Presence, { tone: BadgeTone; icon: ReactNode; word: string }>> = {
  online: { tone: 'good', icon: <CircleCheck />, word: 'online' },
  offline: { tone: 'warn', icon: <CircleX />, word: 'offline' },
  never: { tone: 'unknown', icon: <CircleDashed />, word: 'never seen' },
  unbound: { tone: 'warn', icon: <Link2Off />, word: 'not bound' },
  revoked: { tone: 'neutral', icon: <CircleX />, word: 'revoked' },
};

/** The presence of a host, what it has to restart, and whether it is a suspected clone. */
export function HostBadges({ host }: { host: AgentItem }) {
  const { tone, icon, word } = PRESENCES[presenceOf(host)];
  return (
    <span className="inline-flex flex-wrap gap-1 sm:flex-nowrap">
      <Badge tone={tone} icon={icon}>
        {word}
      </Badge>
      {host.restarts.reboot === 'needed' && (
        <Badge tone="warn" icon={<RotateCw />}>
          reboot needed
        </Badge>
      )}
      {/* A reboot restarts them, too. */}
      {host.restarts.services === 'needed' && host.restarts.reboot !== 'needed' && (
        <Badge tone="warn" icon={<RotateCw />}>
          services need a restart
        </Badge>
      )}
      {host.clone_suspected && (
        <Badge tone="bad" icon={<Copy />}>
          clone suspected
        </Badge>
      )}
    </span>
  );
}
