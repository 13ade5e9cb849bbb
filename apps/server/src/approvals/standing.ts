import type { Ecosystem } from '@tidegate/protocol/scalars';
import { canonicalName } from '@tidegate/versions/names';
import type { Db } from '../platform/db/engine.ts';
import type { BroughtVersion, PolicySubject } from '../policies/policy-rules.ts';
import type { AskingPolicy } from '../policies/policy-view.ts';
import { type FirstSeen, newVersions, type SeenVersion } from '../release-times/seen-rules.ts';
import type { RingStanding } from '../rollouts/promotion-rules.ts';
import { ringStanding } from '../rollouts/ring-standing.ts';
import type { UpdateRow } from '../updates/store.ts';
import type { ApprovalRequest, Standing, UpdateFacts } from './gate-facts.ts';
import type { LoadedSet } from './load-update.ts';

/** A draft has no digest yet, and is never recorded. */
export const DRAFT_POLICY = { policyId: '00000000-0000-0000-0000-000000000000', sha256: '0'.repeat(64) };

/**
 * The request of a policy about a set, or of the sweep for what waits in its name: never an override, and its terms with
 * what they are compared with.
 */
export function policyRequest(
  policy: Pick<AskingPolicy, 'policyId' | 'sha256' | 'terms'>,
  asked: {
    by: 'policy' | 'sweep';
    loaded: LoadedSet;
    facts: UpdateFacts;
    atMs: number;
    ring?: RingStanding | undefined;
  },
): ApprovalRequest {
  const { by, loaded, facts, atMs, ring } = asked;
  const standing: Standing = {
    ...{ policyId: policy.policyId, sha256: policy.sha256, terms: policy.terms, atMs },
    updates: subjectsOf(loaded.ecosystem, loaded.updates, facts),
    brought: broughtBy(loaded, facts),
    ...(ring && { ring }),
  };
  return { by, override: false, overrideReason: null, standing };
}

/** The same of a policy in force, with where the host stands among its rings. */
export async function requestInForce(
  db: Db,
  policy: AskingPolicy,
  asked: { by: 'policy' | 'sweep'; loaded: LoadedSet; facts: UpdateFacts; atMs: number },
): Promise<ApprovalRequest> {
  const { agent, ecosystem, updates, planned } = asked.loaded;
  const ring =
    policy.rings &&
    (await ringStanding(db, {
      ...{ policyId: policy.policyId, ...policy.rings },
      ...{ agentId: agent.id, host: { osId: agent.os_id, osArch: agent.os_arch } },
      ...{ ecosystem, updates, actions: planned?.plan.actions ?? [] },
    }));
  return policyRequest(policy, { ...asked, ring: ring ?? undefined });
}

/** What a policy asks of these updates themselves. */
export function subjectsOf(
  ecosystem: Ecosystem,
  updates: readonly Pick<UpdateRow, 'name' | 'available_version' | 'origin' | 'security' | 'change'>[],
  { judged }: Pick<UpdateFacts, 'judged'>,
): PolicySubject[] {
  const fixed = Map.groupBy(judged?.closure.fixed ?? [], (fix) => canonicalName(ecosystem, fix.package));
  return updates.map(({ name, available_version: version, origin, security, change }) => ({
    ...{ ecosystem, name, version, origin, security: security === 1, change },
    fixes:
      judged && (fixed.get(canonicalName(ecosystem, name)) ?? []).map(({ severity }) => severity ?? null),
  }));
}

function broughtBy({ ecosystem, agent, planned }: LoadedSet, facts: UpdateFacts): BroughtVersion[] {
  if (!planned) return [];
  const { actions } = planned.plan;
  const { installed } = planned.closure;
  const versions = newVersions({ ecosystem, osId: agent.os_id, actions, installed });
  return withAges(versions, { facts, firstSeen: facts.information?.firstSeen ?? [] });
}

/** Since the release where its registry says it, else since the fleet first saw the version. */
export function withAges(
  versions: readonly SeenVersion[],
  { facts, firstSeen }: { facts: Pick<UpdateFacts, 'ecosystem' | 'judged'>; firstSeen: readonly FirstSeen[] },
): BroughtVersion[] {
  const keyOf = (one: { package: string; version: string }) =>
    `${canonicalName(facts.ecosystem, one.package)}\n${one.version}`;
  const seen = new Map(firstSeen.map((one) => [keyOf(one), one.atMs]));
  const released = new Map(facts.judged?.age.times.map((one) => [keyOf(one), one.publishedAtMs]));
  return versions.map(({ name, version }) => {
    const one = { package: name, version };
    return { ...one, sinceMs: released.get(keyOf(one)) ?? seen.get(keyOf(one)) ?? null };
  });
}
