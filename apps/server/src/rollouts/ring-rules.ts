import { canonicalJson } from '@tidegate/protocol/canonical-json';
import type { PolicyScope } from '@tidegate/protocol/policies-api';
import type { Ring, Unrepresented } from '@tidegate/protocol/rings';
import { hostsInScope, type ScopedHost } from '../agents/host-scope.ts';
import { sha256Hex } from '../platform/sha256.ts';

/** The ring of each host: the first that matches takes it, and the last takes the rest. */
export function ringsOf(policyId: string, rings: readonly Ring[]): (host: ScopedHost) => number {
  const last = rings.length - 1;
  const matchers: ((host: ScopedHost) => boolean)[] = [];
  let from = 0;
  for (const { members } of rings.slice(0, last)) {
    if (members.kind === 'some') {
      matchers.push(hostsInScope(members));
    } else if (members.kind === 'percent') {
      // Shares lie side by side, so that 5 % and 20 % are a quarter of the fleet.
      const [begin, end] = [from, from + members.percent * 100];
      from = end;
      matchers.push(({ id }) => {
        const share = shareOf(policyId, id);
        return share >= begin && share < end;
      });
    } else matchers.push(() => false);
  }
  return (host) => {
    const found = matchers.findIndex((matches) => matches(host));
    return found < 0 ? last : found;
  };
}

/** The scopes by which rings choose their hosts. */
export function ringScopes(rings: readonly Pick<Ring, 'members'>[]): PolicyScope[] {
  return rings.flatMap(({ members }) => (members.kind === 'some' ? members : []));
}

/** A number below 10,000 that stays the same for a host as long as its policy exists. */
export function shareOf(policyId: string, agentId: string): number {
  const digest = sha256Hex(`${policyId}\n${agentId}`);
  return Number.parseInt(digest.slice(0, 8), 16) % 10_000;
}

/** Who is in which ring, as one text: what an order of rings has proved says nothing about another. */
export function membersDigest(rings: readonly Pick<Ring, 'members'>[]): string {
  return sha256Hex(canonicalJson(rings.map(({ members }) => members)));
}

/** The ring that a host enters which was not there when the rollout began. */
export function ringOfLate(own: number, at: { current: number; last: number; isNew: boolean }): number {
  // Somebody who enrols a host during a rollout must not become what it is tried on.
  return at.isNew || own < at.current ? at.last : own;
}

/** Hosts of one ring with the same system. */
export interface RingSystem {
  readonly ring: number;
  readonly osId: string;
  readonly osVersion: string;
  readonly arch: string;
  readonly hosts: number;
}

/** Systems of outer rings without a host in the first ring, the largest first. */
export function unrepresentedIn(systems: readonly RingSystem[]): Unrepresented[] {
  const keyOf = ({ osId, osVersion, arch }: RingSystem) => [osId, osVersion, arch].join('\n');
  const first = new Set(systems.filter(({ ring, hosts }) => ring === 0 && hosts > 0).map(keyOf));
  const outer = Map.groupBy(
    systems.filter((system) => system.ring > 0 && !first.has(keyOf(system))),
    keyOf,
  );
  return [...outer]
    .flatMap(([key, same]) => {
      const [one] = same;
      const hosts = same.reduce((sum, system) => sum + system.hosts, 0);
      return one && hosts > 0
        ? { key, item: { os_id: one.osId, os_version: one.osVersion, arch: one.arch, hosts } }
        : [];
    })
    .toSorted((a, b) => b.item.hosts - a.item.hosts || (a.key < b.key ? -1 : 1))
    .map(({ item }) => item);
}
