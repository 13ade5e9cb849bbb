import type { Failure } from '../platform/failures.ts';
import type { Log } from '../platform/log.ts';
import type { ProbeWatch } from '../probes/probe-watch.ts';
import { type AgentSession, callAgent } from '../session/call-agent.ts';

/** Reports the probes if they have run since the server last heard of them. Null when nothing is left to send. */
export async function sendProbes(
  parts: AgentSession & { probes: ProbeWatch; log: Log },
): Promise<Failure | null> {
  const { probes, log } = parts;
  const report = probes.unsent();
  if (report === null) return null;
  const answer = await callAgent(parts, { method: 'PUT', path: '/probes', body: report });
  if (!answer.ok && answer.failure.kind !== 'rejected') return answer.failure;
  probes.sent(report); // a report that was refused would be refused again
  const notGreen = report.probes.filter(({ state }) => state !== 'green').map(({ name }) => name);
  if (answer.ok) log.info('probes reported', { probes: report.probes.length, not_green: notGreen.join(' ') });
  else log.warn('the server refused the report of probes', { probes: report.probes.length });
  return null;
}
