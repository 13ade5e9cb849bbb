import { mountAgeExceptions } from '../approvals/age-exceptions.ts';
import { mountAgentApprovals } from '../approvals/agent-routes.ts';
import {
  createApprovalBackground,
  createHousekeeping,
  createLedgerBackground,
} from '../approvals/background.ts';
import { mountCountersign } from '../approvals/countersign-routes.ts';
import { mountDecisions } from '../approvals/decision-routes.ts';
import type { ApprovalDeps } from '../approvals/deps.ts';
import { createFixFinder } from '../approvals/offer-fixes.ts';
import { mountVulnerabilityPolicy } from '../approvals/policy-routes.ts';
import { mountApprovals } from '../approvals/routes.ts';
import { mountBlackouts } from '../blackouts/routes.ts';
import { createCommandExpiry } from '../commands/expire-commands.ts';
import { createHoldBackground } from '../holds/manage-holds.ts';
import { mountHolds } from '../holds/routes.ts';
import { createOriginBackground } from '../origins/register-origin.ts';
import { mountOrigins } from '../origins/routes.ts';
import type { App } from '../platform/http/server.ts';
import type { Platform } from '../platform/platform.ts';
import { createPolicyBackground } from '../policy-runs/background.ts';
import { mountPolicies } from '../policy-runs/routes.ts';
import { mountRollbacks } from '../rollbacks/routes.ts';
import { createRolloutBackground } from '../rollout-runs/background.ts';
import { mountRollouts } from '../rollout-runs/routes.ts';
import { mountSboms } from '../sboms/routes.ts';
import { createUnfixedBackground } from '../unfixed/background.ts';
import { mountUnfixed } from '../unfixed/routes.ts';
import { createStatementBackground } from '../vex/end-statements.ts';
import { mountStatements } from '../vex/routes.ts';
import { mountVulnerabilities } from '../vulnerabilities/routes.ts';
import { mountWithheld } from '../withheld/routes.ts';
import type { Sources } from './open-sources.ts';
import type { ApplicationParts, Opening } from './parts.ts';

/** What approvals need, with the sweep and the upkeep of the ledger behind it. */
export function openApprovals(
  { config, platform, keyRing, workOfOne, counts }: Opening,
  { advisories, releaseTimes, provenance }: Sources,
): ApprovalDeps {
  const deps: ApprovalDeps = {
    ...{ platform, config, keyRing, provenance },
    worker: advisories,
    ageSource: releaseTimes,
    ...(counts && { onDecision: counts.decided }),
  };
  const intervalMs = config.sweepIntervalSeconds * 1_000;
  const every = { intervalMs };
  const by = (fenced: Platform): ApprovalDeps => ({ ...deps, platform: fenced });
  const judging = (fenced: Platform) => ({ platform: fenced, config, worker: advisories });
  workOfOne.use('approvals', (fenced) => createApprovalBackground(by(fenced), every));
  workOfOne.use('expiry of approvals', (fenced) => createHousekeeping(by(fenced), every));
  workOfOne.use('expiry of commands', (fenced) => createCommandExpiry(fenced, every));
  workOfOne.use('artifact ledger', (fenced) => createLedgerBackground(by(fenced), every));
  workOfOne.use('statements about vulnerabilities', (fenced) => createStatementBackground(fenced, every));
  workOfOne.use('smallest fixes', (fenced) => createFixFinder(judging(fenced), every));
  workOfOne.use('policies', (fenced) => createPolicyBackground(by(fenced), every));
  workOfOne.use('rollouts', (fenced) => createRolloutBackground(by(fenced), every));
  workOfOne.use('holds', (fenced) => createHoldBackground(fenced, every));
  workOfOne.use('vulnerabilities without a fix', (fenced) => createUnfixedBackground(judging(fenced), every));
  workOfOne.use('registered origins', (fenced) => createOriginBackground(fenced, every));
  return deps;
}

export function mountApprovalRoutes(
  http: App,
  { platform, keyRing }: Pick<ApplicationParts, 'platform' | 'keyRing'>,
  deps: ApprovalDeps,
): void {
  mountApprovals(http.routes, deps);
  mountDecisions(http.routes, deps);
  mountCountersign(http.routes, deps);
  mountAgeExceptions(http.routes, deps);
  mountVulnerabilityPolicy(http.routes, deps);
  mountStatements(http.routes, { platform, keyRing });
  mountOrigins(http.routes, { platform, keyRing });
  mountPolicies(http.routes, deps);
  mountRollbacks(http.routes, { platform });
  mountRollouts(http.routes, platform);
  mountBlackouts(http.routes, platform);
  mountHolds(http.routes, platform);
  mountUnfixed(http.routes, deps);
  mountVulnerabilities(http.routes, deps);
  mountSboms(http.routes, { ...deps, fleetId: keyRing.fleetId });
  mountWithheld(http.routes, platform);
  mountAgentApprovals(http.routes, { platform, keyRing });
}
