import { compareVersions } from '@tidegate/versions';

export interface CallerFacts {
  agent: 'active' | 'revoked' | 'absent';
  familyActive: boolean;
  recordedMachineId: string | null;
  /** X-Machine-ID; null when missing or not a machine id. */
  presentedMachineId: string | null;
  agentId: string;
  /** `{agent_id}` of the path; null without one. */
  pathAgentId: string | null;
  agentVersion: string;
  minAgentVersion: string | null;
  /** Exceptions of the route: an unbound agent (check-in), an agent below the minimum version. */
  route: { bind: boolean; old: boolean };
}

export type CallerVerdict = 'pass' | 'gone' | 'mismatch' | 'unbound' | 'foreign' | 'too_old';

/**
 * Checks an agent with a genuine token within its limit; the first fault counts (section 5, docs/protocol/requests.md).
 */
export function judgeCaller(facts: CallerFacts): CallerVerdict {
  if (facts.agent !== 'active' || !facts.familyActive) return 'gone';
  // Reading 7: a missing header is a mismatch, for an unbound agent too.
  if (facts.presentedMachineId === null) return 'mismatch';
  if (facts.recordedMachineId !== null && facts.recordedMachineId !== facts.presentedMachineId) {
    return 'mismatch';
  }
  if (facts.recordedMachineId === null && !facts.route.bind) return 'unbound';
  if (facts.pathAgentId !== null && facts.pathAgentId !== facts.agentId) return 'foreign';
  if (!facts.route.old && isTooOld(facts.agentVersion, facts.minAgentVersion)) return 'too_old';
  return 'pass';
}

/** A version that cannot be ordered counts as too old. */
export function isTooOld(version: string, minimum: string | null): boolean {
  if (minimum === null || version === minimum) return false;
  const order = compareVersions('npm', version, minimum);
  return order === 'undecidable' || order < 0;
}
