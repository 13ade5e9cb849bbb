/** Loopback addresses, the only ones for which the agent accepts `http://`. */
const LOCAL = /^http:\/\/(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/;

/** Whether hosts other than the server's own machine may enrol at this address. */
export function isReachableSafely(origin: string): boolean {
  return origin.startsWith('https://') || LOCAL.test(origin);
}

/** The user that runs the agent, as in the units for systemd. */
const AGENT_USER = 'tidegate-agent';

export interface Step {
  readonly what: string;
  readonly command: string;
}

/** The commands to run as root on a host. The token is in the environment: every user can see arguments. */
export function enrolSteps({ origin, token }: { origin: string; token: string }): readonly Step[] {
  const insecure = isReachableSafely(origin) ? '' : ' --allow-insecure-http';
  return [
    {
      what: 'Create the user that runs the agent',
      command: `id ${AGENT_USER} >/dev/null 2>&1 || useradd --system ${AGENT_USER}`,
    },
    {
      what: 'Enrol the host',
      command: `TIDEGATE_TOKEN=${token} tidegate-agent enrol --server ${origin} --user ${AGENT_USER}${insecure}`,
    },
  ];
}

export const TOKENS = '/api/v1/admin/registration-tokens';

export type TokenState = 'open' | 'used up' | 'expired';

/** Whether a token can still enrol a host. */
export function tokenState(
  token: { readonly seats: number; readonly seats_used: number; readonly expires_at: string },
  nowMs: number,
): TokenState {
  if (Date.parse(token.expires_at) <= nowMs) return 'expired';
  return token.seats_used >= token.seats ? 'used up' : 'open';
}

export interface Joined {
  readonly agentId: string;
  readonly hostname: string;
}

/** The hosts that enrolled with this token, once each, in order of enrolment. */
export function joinedWith(
  tokenId: string,
  events: readonly { readonly agent_id: string | null; readonly content: unknown }[],
): readonly Joined[] {
  const joined = new Map<string, string>();
  for (const { agent_id: agentId, content } of events.toReversed()) {
    if (agentId === null || typeof content !== 'object' || content === null) continue;
    if (!('registration_token_id' in content) || content.registration_token_id !== tokenId) continue;
    const name = 'hostname' in content ? content.hostname : null;
    joined.set(agentId, typeof name === 'string' ? name : agentId);
  }
  return [...joined].map(([agentId, hostname]) => ({ agentId, hostname }));
}
