import { isWithinHours, nextWindowMs } from '../host-policy/hours.ts';
import { loadHostPolicy } from '../host-policy/policy.ts';
import { outsideHours } from '../host-policy/policy-rules.ts';
import { agentEvent } from '../journal/events.ts';
import { timestamp } from '../platform/clock.ts';
import type { CommandEnd } from './install-update.ts';
import type { Runtime } from './runtime.ts';

/**
 * The end of an installation that comes outside the hours of this host, before it was even begun: the server delivers
 * it again when the next begin. Null where it may begin now; what else the policy forbids takes the approval to see.
 */
export function deferToHours({ policy, nowMs }: Pick<Runtime, 'policy' | 'nowMs'>): CommandEnd | null {
  const loaded = loadHostPolicy(policy);
  const hours = loaded.kind === 'policy' ? loaded.policy.hours : undefined;
  const now = nowMs();
  if (hours === undefined || isWithinHours(hours, now)) return null;
  const { check, detail } = outsideHours(hours, now);
  const event = agentEvent('COMMAND_REFUSED', detail, { nowMs: now, details: { check } });
  const retry_at = timestamp(nextWindowMs(hours, now));
  const result = { status: 'refused' as const, reason: `host_policy (${check}): ${detail}`, retry_at };
  return { result, events: [event], failure: null };
}
