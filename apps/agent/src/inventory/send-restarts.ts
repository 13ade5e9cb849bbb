import type { Failure } from '../platform/failures.ts';
import type { Log } from '../platform/log.ts';
import type { RestartWatch } from '../restarts/restart-watch.ts';
import { type AgentSession, callAgent } from '../session/call-agent.ts';

/** Reports what runs old code, if that has changed since the server last took it. Null when nothing is left to send. */
export async function sendRestarts(
  parts: AgentSession & { restarts: RestartWatch; log: Log },
): Promise<Failure | null> {
  const { restarts, log } = parts;
  await restarts.follow();
  const report = restarts.unsent();
  if (report === null) return null;
  const answer = await callAgent(parts, { method: 'PUT', path: '/restarts', body: report });
  if (!answer.ok && answer.failure.kind !== 'rejected') return answer.failure;
  restarts.sent(report); // a report that was refused would be refused again
  const fields = { services: report.services.need, reboot: report.reboot.need };
  if (answer.ok) log.info('restarts reported', fields);
  else log.warn('the server refused the report of restarts', fields);
  return null;
}
