import type { ConfigFile } from '../identity/config-file.ts';
import type { Outcome } from '../platform/failures.ts';
import type { ServerRequest } from './server-client.ts';
import type { Session } from './session.ts';

/** What a request of an enrolled agent needs. */
export interface AgentSession {
  config: ConfigFile;
  session: Session;
}

/** Calls a path below this agent's own. */
export function callAgent(
  { config, session }: AgentSession,
  request: ServerRequest,
): Promise<Outcome<{ status: number; body: unknown }>> {
  const path = `/api/v1/agents/${config.current().agent_id}${request.path}`;
  return session.call({ ...request, path });
}
