import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { hostsInScope, type ScopedHost } from '../agents/host-scope.ts';
import type { WaitingUpdate } from './candidates-store.ts';
import { leftOut, type MatchedPolicy, matchKey } from './match-rules.ts';

/** The updates that each policy asks for, by digest. */
export type Asked = Map<string, WaitingUpdate[]>;

/**
 * Finds the policies that ask for each update. Hosts of a fleet have the same packages, so each policy is compared with
 * each distinct package once.
 */
export function createMatcher(policies: readonly MatchedPolicy[]) {
  const byPackage = new Map<string, readonly MatchedPolicy[]>();
  const reaches = policies.map((policy) => ({ policy, isReached: hostsInScope(policy.scope) }));

  function askingFor(update: WaitingUpdate): readonly MatchedPolicy[] {
    const key = matchKey(update);
    const known = byPackage.get(key);
    if (known) return known;
    const subject = { ...update, ecosystem: Value.Parse(Ecosystem, update.ecosystem) };
    const asking = policies.filter((policy) => leftOut(policy, subject) === null);
    byPackage.set(key, asking);
    return asking;
  }

  /** Adds the updates of one host that `mayAsk` lets pass. */
  return function match(
    host: ScopedHost,
    given: {
      updates: readonly WaitingUpdate[];
      mayAsk: (policy: MatchedPolicy, update: WaitingUpdate) => boolean;
      asked: Asked;
    },
  ): void {
    const { updates, mayAsk, asked } = given;
    const reaching = new Set(reaches.flatMap(({ policy, isReached }) => (isReached(host) ? policy : [])));
    if (reaching.size === 0) return;
    for (const update of updates) {
      for (const policy of askingFor(update)) {
        if (!reaching.has(policy) || !mayAsk(policy, update)) continue;
        const list = asked.get(policy.sha256) ?? [];
        list.push(update);
        asked.set(policy.sha256, list);
      }
    }
  };
}
