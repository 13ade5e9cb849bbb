import type { PolicyTerms } from '@tidegate/protocol/policies-api';
import { canonicalName } from '@tidegate/versions/names';
import type { BroughtVersion, PolicySubject } from '../policies/policy-rules.ts';
import { newVersions } from '../release-times/seen-rules.ts';
import type { ApprovalRequest, Standing, UpdateFacts } from './gate-facts.ts';
import type { LoadedSet } from './load-update.ts';

/** A version of a policy, as far as the gate needs it. */
export interface AskingPolicy {
  readonly policyId: string;
  readonly sha256: string;
  readonly terms: PolicyTerms;
}

/**
 * The request of a policy about a set, or of the sweep for what waits in its name: never an override, and its terms with
 * what they are compared with.
 */
export function policyRequest(
  policy: AskingPolicy,
  asked: { by: 'policy' | 'sweep'; loaded: LoadedSet; facts: UpdateFacts; atMs: number },
): ApprovalRequest {
  const { by, loaded, facts, atMs } = asked;
  const standing: Standing = {
    ...{ policyId: policy.policyId, sha256: policy.sha256, terms: policy.terms, atMs },
    updates: subjectsOf(loaded, facts),
    brought: broughtBy(loaded, facts),
  };
  return { by, override: false, overrideReason: null, standing };
}

function subjectsOf({ updates, ecosystem }: LoadedSet, { judged }: UpdateFacts): PolicySubject[] {
  const fixed = Map.groupBy(judged?.closure.fixed ?? [], (fix) => canonicalName(ecosystem, fix.package));
  return updates.map(({ name, origin, security, change }) => ({
    ...{ ecosystem, name, origin, security: security === 1, change },
    fixes:
      judged && (fixed.get(canonicalName(ecosystem, name)) ?? []).map(({ severity }) => severity ?? null),
  }));
}

/** Since the release where its registry says it, else since the fleet first saw the version. */
function broughtBy(
  { ecosystem, agent, planned }: LoadedSet,
  { judged, information }: UpdateFacts,
): BroughtVersion[] {
  if (!planned) return [];
  const keyOf = (one: { package: string; version: string }) =>
    `${canonicalName(ecosystem, one.package)}\n${one.version}`;
  const seen = new Map(information?.firstSeen.map((one) => [keyOf(one), one.atMs]));
  const released = new Map(judged?.age.times.map((one) => [keyOf(one), one.publishedAtMs]));
  const { actions } = planned.plan;
  const { installed } = planned.closure;
  return newVersions({ ecosystem, osId: agent.os_id, actions, installed }).map(({ name, version }) => {
    const one = { package: name, version };
    return { ...one, sinceMs: released.get(keyOf(one)) ?? seen.get(keyOf(one)) ?? null };
  });
}
