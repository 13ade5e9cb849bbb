import type { GateReport } from '@tidegate/protocol/approvals-api';
import { type ApprovalDeps, policyOf, WAIT_MS } from './deps.ts';
import { judge } from './gate.ts';
import type { ApprovalRequest } from './gate-facts.ts';
import { gateReport } from './gate-report.ts';
import { factsOf, storedOnly, waitForSources } from './load-facts.ts';
import { loadUpdate, subjectsOfUpdate } from './load-update.ts';
import { withPolicyInForce } from './vulnerability-policy.ts';

const PLAIN: ApprovalRequest = { by: 'operator', override: false, overrideReason: null };

export type Preview =
  | { kind: 'report'; report: GateReport }
  | { kind: 'not_found' }
  | { kind: 'verdict_pending' };

/** The gate's verdict as an approval would get it; mints and writes nothing. */
export async function previewUpdate(opened: ApprovalDeps, updateId: string): Promise<Preview> {
  const deps = await withPolicyInForce(opened);
  const loaded = await loadUpdate(deps, updateId);
  if (!loaded) return { kind: 'not_found' };
  const waited = await waitForSources(deps, subjectsOfUpdate(loaded), deps.waitMs ?? WAIT_MS);
  const [facts] = await factsOf(deps, [loaded], waited);
  if (!facts) throw new Error('every loaded update has facts');
  const verdict = judge(facts, policyOf(deps), PLAIN);
  if (verdict.kind === 'verdict_pending') return { kind: 'verdict_pending' };
  return { kind: 'report', report: gateReport(loaded, facts, verdict) };
}

/** The same from stored data, without waiting; null when there is no such update. */
export function createGateOf(opened: ApprovalDeps): (updateId: string) => Promise<GateReport | null> {
  return async (updateId) => {
    const deps = await withPolicyInForce(opened);
    const loaded = await loadUpdate(deps, updateId);
    if (!loaded) return null;
    const [facts] = await factsOf(deps, [loaded], storedOnly(deps));
    if (!facts) return null;
    return gateReport(loaded, facts, judge(facts, policyOf(deps), PLAIN));
  };
}
