import { counted } from '@tidegate/protocol/count-words';
import type {
  GateCondition,
  HostOutcome,
  OutcomeCounts,
  RolloutDetail,
  RolloutItem,
  RolloutRing,
  RolloutState,
} from '@tidegate/protocol/rollouts-api';

export const ROLLOUTS = '/api/v1/rollouts';

export const STATES: Readonly<Record<RolloutState, string>> = {
  running: 'running',
  halted: 'halted',
  finished: 'finished',
  cancelled: 'cancelled',
};

interface OutcomeWords {
  readonly word: string;
  /** How it counts. */
  readonly means: string;
  readonly tone: 'good' | 'bad' | 'unknown' | 'neutral';
}

/** Outcomes in the order in which lanes list them. */
export const OUTCOMES: Readonly<Record<HostOutcome, OutcomeWords>> = {
  installed: { word: 'installed', means: 'counts as a success', tone: 'good' },
  running: { word: 'running', means: 'delivered, not reported yet', tone: 'neutral' },
  waiting: { word: 'waiting', means: 'not delivered yet', tone: 'neutral' },
  failed: { word: 'failed', means: 'its installation failed', tone: 'bad' },
  probe_failed: {
    word: 'unhealthy',
    means: 'its probes failed after the update: counts as failed',
    tone: 'bad',
  },
  silent: { word: 'silent', means: 'no report by its deadline: counts as failed', tone: 'bad' },
  offline: {
    word: 'offline',
    means: 'not delivered, and not checking in: counts neither way',
    tone: 'unknown',
  },
  refused: {
    word: 'refused',
    means: 'by the policy of the host, or because its packages changed: counts neither way',
    tone: 'unknown',
  },
  unfit: {
    word: 'unhealthy before',
    means: 'its probes failed already before the update: counts neither way',
    tone: 'unknown',
  },
  not_offered: { word: 'not offered', means: 'it does not offer these versions any more', tone: 'neutral' },
};
export const OUTCOME_KEYS = [
  ...['installed', 'running', 'waiting', 'failed', 'probe_failed'],
  ...['silent', 'offline', 'refused', 'unfit', 'not_offered'],
] as const satisfies readonly HostOutcome[];

/** The outcomes that hosts have, each with its count. */
export function outcomesIn(
  counts: OutcomeCounts,
): readonly (OutcomeWords & { id: HostOutcome; count: number })[] {
  return OUTCOME_KEYS.map((id) => ({ id, count: counts[id], ...OUTCOMES[id] })).filter(
    ({ count }) => count > 0,
  );
}

/** `3 installed, 1 failed`. */
export function outcomesText(counts: OutcomeCounts): string {
  const parts = outcomesIn(counts).map(({ count, word }) => `${count.toLocaleString('en')} ${word}`);
  return parts.length === 0 ? 'no hosts' : parts.join(', ');
}

/** `ring 2 of 3, rest`. */
export function placeText({ ring, rings, ring_name: name }: RolloutItem): string {
  return `ring ${ring + 1} of ${rings}, ${name}`;
}

/** What a condition has, and what it still lacks: `2 of 3 hosts`, `67 %, needs 100 %`. */
export function numberText({ kind, has, wants }: GateCondition): string {
  switch (kind) {
    case 'success_count':
    case 'soak':
    case 'probes':
      return has >= wants ? counted(has, 'host') : `${has.toLocaleString('en')} of ${counted(wants, 'host')}`;
    case 'success_rate':
      return has >= wants ? `${has} %` : `${has} %, needs ${wants} %`;
    case 'divergences':
      return has === 0 ? 'none is open' : `${has.toLocaleString('en')} open`;
    case 'approval':
      return has >= wants ? 'approved' : 'not approved yet';
  }
}

/** `entered last`: the word of a lane. */
export const LANE_WORDS: Readonly<Record<RolloutRing['state'], string>> = {
  ahead: 'not entered yet',
  current: 'now',
  passed: 'passed',
};

export type Act = 'halt' | 'resume' | 'cancel' | 'emergency' | 'approve';

/** What may be done with a rollout in its state, the first first. The server judges again. */
export function actsOn({ state, lane, lanes, ring }: RolloutDetail): readonly Act[] {
  switch (state) {
    case 'running': {
      const asks = lanes[ring]?.conditions.some(({ kind, met }) => kind === 'approval' && !met) ?? false;
      return [
        ...(asks ? (['approve'] as const) : []),
        'halt',
        ...(lane === 'wave' ? (['emergency'] as const) : []),
        'cancel',
      ];
    }
    case 'halted':
      return ['resume', 'cancel'];
    case 'finished':
    case 'cancelled':
      return [];
  }
}

/** Whether what a rollout has installed in a ring can be undone: only of one that does not go on installing. */
export function canRollBack({ state }: Pick<RolloutDetail, 'state'>, { outcomes }: RolloutRing): boolean {
  return state !== 'running' && outcomes.installed + outcomes.failed + outcomes.probe_failed > 0;
}

/** Hosts that count as failed and that nobody has excused yet. */
export function failuresOf({ outcomes, lanes }: Pick<RolloutDetail, 'outcomes' | 'lanes'>): number {
  const excused = lanes.reduce((sum, lane) => sum + lane.excused, 0);
  return outcomes.failed + outcomes.probe_failed + outcomes.silent - excused;
}
