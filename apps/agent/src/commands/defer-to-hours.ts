import { isWithinHours, nextWindowMs } from '../host-policy/hours.ts';
import { loadHostPolicy } from '../host-policy/policy.ts';
import { outsideHours } from '../host-policy/policy-rules.ts';
import { agentEvent } from '../journal/events.ts';
import { timestamp } from '../platform/clock.ts';
import type { CommandEnd } from './command-end.ts';
import type { Runtime } from './runtime.ts';

/**
 * Ends an installation that arrives outside this host's hours before it starts; the server delivers it again when
 * the next window opens. Null when it may start now. The other policy checks need the approval.
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
