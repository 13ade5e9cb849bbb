import {
  VulnerabilityPolicyChange,
  VulnerabilityPolicyState,
} from '@tidegate/protocol/vulnerability-policy-api';
import { rfc3339 } from '../platform/clock.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import { countStopped } from '../updates/stopped-store.ts';
import type { ApprovalDeps } from './deps.ts';
import { changePolicy, policyInForce } from './vulnerability-policy.ts';

const URL = '/api/v1/admin/vulnerability-policy';
const tags = ['vulnerability policy'];

/** Which known vulnerabilities stop an approval: the setting, and what each choice would stop in this fleet. */
export function mountVulnerabilityPolicy(
  routes: Routes,
  deps: Pick<ApprovalDeps, 'platform' | 'config'>,
): void {
  routes.operator({
    method: 'GET',
    url: URL,
    access: { role: 'viewer', limit: 'admin_reads', reach: 'fleet' },
    schema: {
      tags,
      summary: 'The vulnerability policy in force, and how many open updates each policy stops',
      response: { 200: VulnerabilityPolicyState },
    },
    handler: async () => stateOf(deps),
  });
  routes.operator({
    method: 'PUT',
    url: URL,
    // It decides what the gate stops on every host, so only a person with a fresh factor may change it.
    access: { role: 'admin', limit: 'admin_operations', reach: 'fleet', stepUp: true, scope: null },
    schema: {
      tags,
      summary: 'Choose the vulnerability policy; 409 if the environment fixes it',
      body: VulnerabilityPolicyChange,
      response: { 200: VulnerabilityPolicyState },
      refuses: ['conflict'],
    },
    handler: async ({ operator, body: { policy } }) => {
      const isChanged = await changePolicy(deps, { policy, actor: operator.username });
      if (isChanged) return stateOf(deps);
      throw new Refusal('conflict', {
        detail:
          'SERVICE_SUPPLY_CHAIN_VULNERABILITY_POLICY sets the vulnerability policy: remove it from the environment of the server to choose here.',
      });
    },
  });
}

async function stateOf(deps: Pick<ApprovalDeps, 'platform' | 'config'>): Promise<VulnerabilityPolicyState> {
  const { read } = deps.platform.database;
  const inForce = await policyInForce(read, deps);
  const { introduced, any, neither, notJudged } = await countStopped(read);
  return {
    policy: inForce.policy,
    set_by: inForce.setBy,
    changed_at: inForce.setBy === 'operator' ? rfc3339(inForce.changedAtMs) : null,
    changed_by: inForce.setBy === 'operator' ? inForce.changedBy : null,
    open: {
      judged: introduced + any + neither,
      not_judged: notJudged,
      stopped: { any: any + introduced, introduced },
    },
  };
}
