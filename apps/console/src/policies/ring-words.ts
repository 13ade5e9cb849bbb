import { counted } from '@tidegate/protocol/count-words';
import { isolated } from '@tidegate/protocol/isolated';
import type { Ring, RingMembers, RingsPreview, UnprovenRule, Unrepresented } from '@tidegate/protocol/rings';
import { listed } from '../updates/update-words.ts';
import { scopeText } from './policy-rules.ts';
import { minutesText } from './schedule-rules.ts';

/** Who is in a ring: `10 % of the hosts`, `the group lab`. */
export function membersText(members: RingMembers): string {
  switch (members.kind) {
    case 'some':
      return scopeText(members);
    case 'percent':
      return `${members.percent} % of the hosts`;
    case 'rest':
      return 'all other hosts';
  }
}

/** What the ring has to show before the next one is entered; null for the last ring. */
export function gateText({ gate }: Pick<Ring, 'gate'>): string | null {
  if (gate === null) return null;
  const { min_success_count: count, min_success_rate_percent: rate, soak_minutes: soak } = gate;
  return listed([
    `${counted(count, 'host')} and ${rate} % of those that took their updates have installed`,
    ...(soak === 0 ? [] : [`have run for ${minutesText(soak)} since`]),
    ...(gate.probes === 'green' ? ['have green probes'] : []),
    ...(gate.approval ? ['a person approves'] : []),
  ]);
}

/** When the ring stops the rollout by itself. */
export function haltText({ halt, gate, deadline_minutes: minutes }: Ring): string {
  const { failed_hosts: hosts, failed_percent: percent } = halt;
  const limits = [
    ...(hosts === null ? [] : [`${counted(hosts, 'host')} failed`]),
    ...(percent === null ? [] : [`more than ${percent} % failed`]),
  ];
  const when =
    limits.length > 0
      ? limits.join(' or ')
      : gate
        ? 'more failed than the condition for the next ring allows'
        : 'more failed than the condition for this ring allows';
  return `${when}; silent for ${minutesText(minutes)} counts as failed`;
}

export function unprovenText(rule: UnprovenRule | undefined): string {
  return rule === undefined || rule === 'ask'
    ? 'a person decides'
    : `waits ${counted(rule.wait_days, 'day')} after its ring was entered`;
}

/** `debian 12, amd64: 4 hosts`. */
export function systemText({ os_id: os, os_version: version, arch, hosts }: Unrepresented): string {
  const system = os === null ? 'an unknown system' : version === null ? os : `${os} ${isolated(version)}`;
  return `${system}, ${arch ?? 'unknown architecture'}: ${counted(hosts, 'host')}`;
}

/** Rings that have too few hosts to open their gate, as sentences. A ring without any is passed at once. */
export function ringWarnings(rings: readonly Ring[], preview: RingsPreview): readonly string[] {
  return rings.flatMap(({ name, gate }, i) => {
    const hosts = preview.rings[i]?.hosts ?? 0;
    if (gate === null) return [];
    if (hosts === 0) return [`Ring “${isolated(name)}” has no hosts, so it proves nothing.`];
    if (hosts >= gate.min_success_count) return [];
    return [
      `The next ring after “${isolated(name)}” asks for ${counted(gate.min_success_count, 'installed host')}, but it has ${hosts}: the rollout would stop there.`,
    ];
  });
}
