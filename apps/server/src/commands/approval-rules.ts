import type { ApprovalPayload } from '@tidegate/protocol/documents';

/** Actions that install software: never signed without the approval that they name (A4). */
const INSTALLS: readonly string[] = ['install_update', 'update_agent'];

export function needsApproval(action: string): boolean {
  return INSTALLS.includes(action);
}

export interface ApprovalFacts {
  /** The document that a trusted key signed; null if there is none. */
  approval: Pick<
    ApprovalPayload,
    'token_id' | 'fleet_id' | 'agent_id' | 'updates' | 'issued_at' | 'expires_at'
  > | null;
  /** Digest of the signed bytes. */
  sha256: string | null;
  fleetId: string;
  /** Contents of the command's row. */
  agentId: string;
  updateIds: readonly string[];
  reference: { tokenId: string | null; sha256: string | null };
  nowMs: number;
}

export type ApprovalFault =
  | 'approval_not_signed'
  | 'approval_not_the_referenced_one'
  | 'approval_for_another_fleet'
  | 'approval_for_another_agent'
  | 'approval_for_other_updates'
  | 'approval_expired';

/**
 * Judges the approval of a command as its agent will (docs/protocol/verification.md), before the command is
 * signed; the first fault counts.
 */
export function approvalFault(facts: ApprovalFacts): ApprovalFault | null {
  const { approval, reference } = facts;
  if (approval === null) return 'approval_not_signed';
  if (approval.token_id !== reference.tokenId || facts.sha256 !== reference.sha256) {
    return 'approval_not_the_referenced_one';
  }
  if (approval.fleet_id !== facts.fleetId) return 'approval_for_another_fleet';
  if (approval.agent_id !== facts.agentId) return 'approval_for_another_agent';
  if (!isSame(approval.updates, facts.updateIds)) return 'approval_for_other_updates';
  // The signed time, not the column beside it.
  return Date.parse(approval.expires_at) > facts.nowMs ? null : 'approval_expired';
}

/** In order, as the agent compares them. */
function isSame(updates: ApprovalPayload['updates'], ids: readonly string[]): boolean {
  return updates.length === ids.length && updates.every(({ update_id }, i) => update_id === ids[i]);
}
