import { FleetLockError } from '@tidegate/protocol/fleet-lock';
import { PROBLEM_MEDIA_TYPE, Problem } from '@tidegate/protocol/problems';
import { Check } from 'typebox/value';
import { type Endpoint, sampleOf } from './open-api.ts';

export type Credentials = {
  operator: string;
  agent: string;
  registration: string;
  machineId: string;
  agentId: string;
  /** User and password of a FleetLock client. */
  fleetLock: string;
};

export type BadRequest = {
  endpoint: Endpoint;
  /** The bytes to send; null for no body. */
  body: Uint8Array<ArrayBuffer> | string | null;
  /** Values for parameters of path and query, in place of samples. */
  parameters?: Readonly<Record<string, string>>;
  headers?: Readonly<Record<string, string>>;
};

export type BadAnswer = { status: number; text: string; fault: string | null };

/** An id that does not exist. */
const NOBODY = '01900000-0000-7000-8000-00000000dead';
const ANSWER_WITHIN_MS = 90_000;
const LANES = 16;
const SEAT_TRIES_MAX = 500;

/** Sends requests that no client should send, with valid credentials, and checks the form of the response. */
export function createBadClient(url: string, credentials: Credentials) {
  async function send(request: BadRequest, tries = 0): Promise<BadAnswer> {
    const { endpoint, body } = request;
    const response = await fetch(`${url}${targetOf(request, credentials)}`, {
      method: endpoint.method,
      headers: {
        ...(body === null ? {} : { 'content-type': 'application/json' }),
        ...credentialOf(endpoint, credentials),
        ...request.headers,
      },
      ...(body === null ? {} : { body }),
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      redirect: 'manual',
    });
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
      await response.body?.cancel();
      return { status: response.status, text: '', fault: null };
    }
    const text = await response.text();
    // Lanes are one operator, who may have few files open at once: the next try finds a seat.
    if (response.status === 503 && / open\.$/.test(detailOf(text)) && tries < SEAT_TRIES_MAX) {
      return send(request, tries + 1);
    }
    return { status: response.status, text, fault: faultOf(response, text) };
  }

  /** Sends them all, some in parallel; returns the responses in order. */
  async function sendAll(requests: readonly BadRequest[]): Promise<BadAnswer[]> {
    const answers: BadAnswer[] = [];
    const queue = requests.entries();
    const lane = async () => {
      for (const [index, request] of queue) answers[index] = await send(request);
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    return answers;
  }

  return { send: (request: BadRequest) => send(request), sendAll };
}

function credentialOf({ caller, path }: Endpoint, credentials: Credentials) {
  const { operator, agent, machineId, registration, fleetLock } = credentials;
  if (isFleetLock(path)) {
    const basic = Buffer.from(fleetLock).toString('base64');
    return { authorization: `Basic ${basic}`, 'fleet-lock-protocol': 'true' };
  }
  switch (caller) {
    case 'agent':
      return { authorization: `Bearer ${agent}`, 'x-machine-id': machineId };
    case 'operator':
      return { authorization: `Bearer ${operator}` };
    case 'nobody':
      // Registration has its own token; the other endpoints of this kind take none.
      return { authorization: `Bearer ${registration}`, 'x-machine-id': machineId };
  }
}

function targetOf({ endpoint, parameters = {} }: BadRequest, { agentId }: Credentials): string {
  const query = new URLSearchParams();
  let path = endpoint.path;
  for (const { name, in: place, schema } of endpoint.parameters) {
    const given = parameters[name];
    if (place === 'path') {
      const text = given ?? (name === 'agent_id' && endpoint.caller === 'agent' ? agentId : textOf(schema));
      path = path.replace(`{${name}}`, encodeURIComponent(text));
    } else if (place === 'query' && given !== undefined) {
      query.set(name, given);
    }
  }
  return query.size === 0 ? path : `${path}?${query}`;
}

function textOf(schema: unknown): string {
  const sample = String(sampleOf(schema));
  return sample.includes('-0000-7000-') ? NOBODY : sample;
}

/** Endpoints that ask for the password again: wrong ones are slowed down, whatever the limits are. */
function isGuess(url: string): boolean {
  return ['/api/v1/auth/password', '/api/v1/auth/step-up'].includes(new URL(url).pathname);
}

/** Its protocol has a form of its own for refusals. */
function isFleetLock(path: string): boolean {
  return path.startsWith('/v1/');
}

function detailOf(text: string): string {
  const problem: unknown = JSON.parse(text);
  return Check(Problem, problem) ? (problem.detail ?? '') : '';
}

/** Null for an allowed response: a success, or a refusal as a problem document. */
function faultOf(response: Response, text: string): string | null {
  const { status } = response;
  if (status >= 200 && status < 300) return null;
  if (status >= 500) return `${status}: ${text.slice(0, 300)}`;
  if (status === 429 && !isGuess(response.url)) return 'a rate limit hides what would have happened';
  const type = response.headers.get('content-type') ?? '';
  if (isFleetLock(new URL(response.url).pathname) && Check(FleetLockError, JSON.parse(text))) return null;
  if (!type.startsWith(PROBLEM_MEDIA_TYPE)) return `${status} as ${type}`;
  const problem: unknown = JSON.parse(text);
  return Check(Problem, problem) && problem.status === status ? null : `${status} of another form: ${text}`;
}
