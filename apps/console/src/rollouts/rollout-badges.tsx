import type { HostOutcome, RolloutItem, RolloutRing, RolloutState } from '@tidegate/protocol/rollouts-api';
import {
  Ban,
  Check,
  CircleDashed,
  CircleHelp,
  Clock,
  Download,
  Flame,
  OctagonAlert,
  Play,
  TriangleAlert,
  VolumeX,
  WifiOff,
  X,
} from 'lucide-react';
import type { ReactNode } from 'react';
import { Badge, type BadgeTone } from '../ui/badge.tsx';
import { LANE_WORDS, OUTCOMES, STATES } from './rollout-rules.ts';

type Look = readonly [tone: BadgeTone, icon: ReactNode];

const STATE_LOOKS: Readonly<Record<RolloutState, Look>> = {
  running: ['accent', <Play key="icon" />],
  halted: ['bad', <OctagonAlert key="icon" />],
  finished: ['good', <Check key="icon" />],
  cancelled: ['neutral', <Ban key="icon" />],
};

export function RolloutBadges({
  rollout: { state, lane },
}: {
  rollout: Pick<RolloutItem, 'state' | 'lane'>;
}) {
  const [tone, icon] = STATE_LOOKS[state];
  return (
    <span className="inline-flex flex-wrap gap-1">
      <Badge tone={tone} icon={icon}>
        {STATES[state]}
      </Badge>
      {lane === 'emergency' && (
        <Badge tone="warn" icon={<Flame />} title="The waiting times are skipped">
          emergency
        </Badge>
      )}
    </span>
  );
}

const LANE_LOOKS: Readonly<Record<RolloutRing['state'], Look>> = {
  ahead: ['neutral', <CircleDashed key="icon" />],
  current: ['accent', <Play key="icon" />],
  passed: ['good', <Check key="icon" />],
};

export function LaneBadge({ state }: { state: RolloutRing['state'] }) {
  const [tone, icon] = LANE_LOOKS[state];
  return (
    <Badge tone={tone} icon={icon}>
      {LANE_WORDS[state]}
    </Badge>
  );
}

const OUTCOME_LOOKS: Readonly<Record<HostOutcome, Look>> = {
  installed: ['good', <Check key="icon" />],
  running: ['accent', <Download key="icon" />],
  waiting: ['neutral', <Clock key="icon" />],
  failed: ['bad', <X key="icon" />],
  probe_failed: ['bad', <TriangleAlert key="icon" />],
  silent: ['bad', <VolumeX key="icon" />],
  offline: ['unknown', <WifiOff key="icon" />],
  refused: ['warn', <Ban key="icon" />],
  unfit: ['warn', <CircleHelp key="icon" />],
  not_offered: ['neutral', <CircleDashed key="icon" />],
};

export function OutcomeBadge({ outcome }: { outcome: HostOutcome }) {
  const [tone, icon] = OUTCOME_LOOKS[outcome];
  const { word, means } = OUTCOMES[outcome];
  return (
    <Badge tone={tone} icon={icon} title={means}>
      {word}
    </Badge>
  );
}
