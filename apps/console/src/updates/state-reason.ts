import { REASONS } from './update-words.ts';

/** Codes with which the server says why an update is in its state. */
const CODES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...REASONS,
    no_plan: 'The host did not say in time what the update would change.',
    plan_drift: 'The host would now change something else than what was approved.',
    no_longer_offered: 'The host no longer offers this version.',
    command_cancelled: 'Its command was cancelled.',
    window_closed: 'The window of the policy closed before it was planned.',
    policy_ended: 'The policy that asked for it has ended.',
    agent_revoked: 'The credentials of the host were revoked.',
    clock_set_back: 'It was approved while the clock of the server was ahead. Approve it again.',
    approval_gone: 'Its approval no longer holds.',
  }),
);

/** Why an update is in its state: a code, a check with a code (`vulnerability: known_vulnerability`), or a sentence. */
export function stateReasonText(reason: string): string {
  const code = /^(?:\w+: )?(\w+)$/.exec(reason)?.[1];
  return CODES.get(code ?? '') ?? reason;
}
