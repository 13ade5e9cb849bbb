import type { Ring, RingGate, RingMembers } from '@tidegate/protocol/rings';

/** Of the server, without the schemas that come with its own constants. */
export const RING_LIMITS = {
  ...{ rings: 10, soakMinutes: 43_200, leastDeadlineMinutes: 5, deadlineMinutes: 10_080, waitDays: 90 },
} as const;

/** A ring as the form holds it: numbers as they are typed. */
export interface RingDraft {
  /** Tells the rings of one form apart. */
  readonly key: number;
  readonly name: string;
  readonly kind: RingMembers['kind'];
  readonly groups: readonly string[];
  readonly hosts: readonly string[];
  readonly tags: readonly string[];
  readonly percent: string;
  readonly count: string;
  readonly rate: string;
  readonly soak: string;
  readonly probes: boolean;
  readonly approval: boolean;
  readonly deadline: string;
  readonly failedHosts: string;
  readonly failedPercent: string;
}

const EMPTY: Omit<RingDraft, 'key' | 'name' | 'kind'> = {
  ...{ groups: [], hosts: [], tags: [], percent: '10', count: '1', rate: '100', soak: '1440' },
  ...{ probes: false, approval: false, deadline: '240', failedHosts: '', failedPercent: '' },
};

/** What rings begin with: a tenth of the hosts for a day, then the rest. */
export function canaryThenRest(): readonly RingDraft[] {
  return [
    { ...EMPTY, key: 0, name: 'canary', kind: 'percent' },
    { ...EMPTY, key: 1, name: 'rest', kind: 'rest', failedPercent: '5' },
  ];
}

/** One more ring, before the last. */
export function withRing(rings: readonly RingDraft[]): readonly RingDraft[] {
  const key = Math.max(...rings.map((ring) => ring.key)) + 1;
  const taken = new Set(rings.map(({ name }) => name));
  const names = ['early', ...rings.map((_, i) => `ring ${i + 2}`)];
  const name = names.find((one) => !taken.has(one)) ?? '';
  const added: RingDraft = { ...EMPTY, key, name, kind: 'percent', percent: '20', rate: '95' };
  return rings.toSpliced(-1, 0, added);
}

/** Without a ring; the last alone is no order, so then there are none. */
export function withoutRing(rings: readonly RingDraft[], index: number): readonly RingDraft[] {
  const left = rings.toSpliced(index, 1);
  return left.length < 2 ? [] : left;
}

/** With two neighbours exchanged. The last ring stays where it is. */
export function withSwapped(rings: readonly RingDraft[], index: number): readonly RingDraft[] {
  const [one, other] = [rings[index], rings[index + 1]];
  if (!one || !other || index + 2 >= rings.length) return rings;
  return rings.toSpliced(index, 2, other, one);
}

export function ringDraftOf(
  { name, members, gate, halt, deadline_minutes: deadline }: Ring,
  key: number,
): RingDraft {
  const { failed_hosts: hosts, failed_percent: percent } = halt;
  return {
    ...{ ...EMPTY, key, name, kind: members.kind },
    ...(members.kind === 'some' && {
      ...{ groups: members.groups, hosts: members.hosts, tags: members.tags ?? [] },
    }),
    ...(members.kind === 'percent' && { percent: `${members.percent}` }),
    ...(gate && {
      ...{ count: `${gate.min_success_count}`, rate: `${gate.min_success_rate_percent}` },
      ...{ soak: `${gate.soak_minutes}`, probes: gate.probes === 'green', approval: gate.approval },
    }),
    deadline: `${deadline}`,
    failedHosts: hosts === null ? '' : `${hosts}`,
    failedPercent: percent === null ? '' : `${percent}`,
  };
}

export function ringOf(draft: RingDraft): Ring {
  return {
    name: draft.name.trim(),
    members: membersOf(draft),
    gate: draft.kind === 'rest' ? null : gateOf(draft),
    deadline_minutes: Number(draft.deadline),
    halt: { failed_hosts: numberOf(draft.failedHosts), failed_percent: numberOf(draft.failedPercent) },
  };
}

function membersOf({ kind, groups, hosts, tags, percent }: RingDraft): RingMembers {
  switch (kind) {
    case 'some':
      return { kind, groups: [...groups], hosts: [...hosts], ...(tags.length > 0 && { tags: [...tags] }) };
    case 'percent':
      return { kind, percent: Number(percent) };
    case 'rest':
      return { kind };
  }
}

function gateOf({ count, rate, soak, probes, approval }: RingDraft): RingGate {
  return {
    ...{ min_success_count: Number(count), min_success_rate_percent: Number(rate) },
    ...{ soak_minutes: Number(soak), probes: probes ? 'green' : 'none', approval },
  };
}

const numberOf = (text: string): number | null => (text === '' ? null : Number(text));
