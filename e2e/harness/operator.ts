import { Envelope } from '@tidegate/protocol/documents';
import { CreatedRegistrationToken } from '@tidegate/protocol/enrolment-api';
import { LoginAnswer } from '@tidegate/protocol/operators-api';
import { Problem } from '@tidegate/protocol/problems';
import { RestartReport } from '@tidegate/protocol/restarts';
import { nullable } from '@tidegate/protocol/scalars';
import { UpdateDetail, UpdateItem } from '@tidegate/protocol/updates-api';
import { type Static, type TSchema, Type } from 'typebox';
import { Check, Errors } from 'typebox/value';
import { OPERATOR } from './server-process.ts';

/** An event of E9, as in docs/protocol/events.md. */
const EventItem = Type.Object({
  id: Type.String(),
  kind: Type.Enum(['security', 'system']),
  type: Type.String(),
  severity: Type.String(),
  component: Type.String(),
  agent_id: nullable(Type.String()),
  actor: nullable(Type.String()),
  content: Type.Record(Type.String(), Type.Unknown()),
  position: Type.Optional(Type.Integer()),
});
export type EventItem = Static<typeof EventItem>;

const CommandItem = Type.Object({
  id: Type.String(),
  agent_id: Type.String(),
  action: Type.String(),
  status: Type.String(),
  reason: nullable(Type.String()),
  restarts: nullable(RestartReport),
  expires_at: Type.String(),
});
export type CommandItem = Static<typeof CommandItem>;

const KeyItem = Type.Object({
  key_id: Type.String(),
  version: Type.Integer(),
  status: Type.String(),
  in_use: Type.Boolean(),
  /** The agents that hold it; absent in the response to a change. */
  trusted_by: Type.Optional(Type.Integer()),
});
export type KeyItem = Static<typeof KeyItem>;

export const Approved = Type.Object({
  update_id: Type.String(),
  state: Type.Literal('approved'),
  token: Envelope,
  warnings: Type.Array(Type.Object({ code: Type.String(), detail: Type.String() })),
});
export type Approved = Static<typeof Approved>;

/** The response to a blocked approval (409). */
export const Blocked = Type.Object({
  ...Problem.properties,
  code: Type.Literal('approval_blocked'),
  blocked_by: Type.String(),
  overridable: Type.Boolean(),
  reason: Type.String(),
  introduces: Type.Array(
    Type.Object({ package: Type.String(), id: Type.String(), in_closure: Type.Enum(['top', 'dependency']) }),
  ),
});
export type Blocked = Static<typeof Blocked>;

const RECHECK_WITHIN_MS = 90_000;

export type Answer = { status: number; body: unknown };
export type ApproveRequest = { override_supply_chain?: boolean; override_reason?: string };

/** An operator with a session. The typed calls throw on anything but success. */
export type Operator = {
  readonly token: string;
  call(method: string, path: string, body?: unknown): Promise<Answer>;
  registrationToken(seats?: number): Promise<string>;
  /** Moves a host to a group. */
  moveTo(agentId: string, group: string): Promise<void>;
  updates(filter?: Record<string, string>): Promise<UpdateItem[]>;
  update(id: string): Promise<UpdateDetail>;
  /** Waits while `verdict_pending`, then returns the gate's answer. */
  approve(id: string, request?: ApproveRequest): Promise<Answer>;
  approved(id: string, request?: ApproveRequest): Promise<Approved>;
  events(filter?: Record<string, string>): Promise<EventItem[]>;
  commands(filter?: Record<string, string>): Promise<CommandItem[]>;
  keys(): Promise<KeyItem[]>;
  addKey(): Promise<KeyItem>;
  useKey(version: number): Promise<void>;
  revokeKey(version: number): Promise<void>;
};

const PAGE = '200';
const VERDICT_WAIT_MS = 60_000;

/** Logs in the first operator. */
export async function logIn(url: string): Promise<Operator> {
  const login = await request(`${url}/api/v1/auth/login`, { method: 'POST', body: OPERATOR });
  const { token } = expectAnswer(login, 200, LoginAnswer);
  const send: Operator['call'] = (method, path, body) => request(`${url}${path}`, { method, body, token });
  // A story may outlast the time for which the password is confirmed.
  const call: Operator['call'] = async (method, path, body) => {
    const answer = await send(method, path, body);
    if (codeOf(answer) !== 'step_up_required') return answer;
    const proven = await send('POST', '/api/v1/auth/step-up', { password: OPERATOR.password });
    return proven.status === 200 ? send(method, path, body) : answer;
  };

  async function list<T extends TSchema>(path: string, item: T, filter: Record<string, string> = {}) {
    const answer = await call('GET', `${path}?${new URLSearchParams({ limit: PAGE, ...filter })}`);
    return expectAnswer(answer, 200, Type.Object({ items: Type.Array(item) })).items;
  }

  async function approve(id: string, body: ApproveRequest = {}): Promise<Answer> {
    const untilMs = performance.now() + VERDICT_WAIT_MS;
    for (;;) {
      const answer = await call('POST', `/api/v1/updates/${id}/approve`, body);
      if (codeOf(answer) !== 'verdict_pending' || performance.now() > untilMs) return answer;
      await pause(250);
    }
  }

  const keysPath = '/api/v1/admin/signing-keys';
  return {
    token,
    call,
    registrationToken: async (seats = 1) => {
      const created = await call('POST', '/api/v1/admin/registration-tokens', { label: 'story', seats });
      return expectAnswer(created, 201, CreatedRegistrationToken).token;
    },
    moveTo: async (agentId, group) => {
      const moved = await call('PATCH', `/api/v1/agents/${agentId}`, { group });
      if (moved.status !== 200) throw new Error(`the host was not moved: ${JSON.stringify(moved.body)}`);
    },
    updates: (filter) => list('/api/v1/updates', UpdateItem, filter),
    update: async (id) => expectAnswer(await call('GET', `/api/v1/updates/${id}`), 200, UpdateDetail),
    approve,
    approved: async (id, body) => expectAnswer(await approve(id, body), 200, Approved),
    events: (filter) => list('/api/v1/events', EventItem, filter),
    commands: (filter) => list('/api/v1/commands', CommandItem, filter),
    keys: () => list(keysPath, KeyItem),
    addKey: async () => expectAnswer(await call('POST', keysPath, {}), 201, KeyItem),
    useKey: async (version) =>
      void expectAnswer(await call('POST', `${keysPath}/${version}/use`, {}), 200, KeyItem),
    revokeKey: async (version) =>
      void expectAnswer(await call('POST', `${keysPath}/${version}/revoke`, {}), 200, KeyItem),
  };
}

/** The body of a response with this status and schema; otherwise throws with the whole response. */
export function expectAnswer<T extends TSchema>(answer: Answer, status: number, schema: T): Static<T> {
  const { body } = answer;
  if (answer.status === status && Check(schema, body)) return body;
  const [fault] = Check(schema, body) ? [] : Errors(schema, body);
  const why = fault === undefined ? '' : ` ${fault.instancePath} ${fault.message}`;
  throw new Error(`expected ${status}, got ${answer.status}${why}: ${JSON.stringify(body).slice(0, 2_000)}`);
}

/** The error code of a response; null without one. */
export function codeOf({ body }: Answer): string | null {
  return Check(Problem, body) ? body.code : null;
}

/** Raises every limit (E5), so that no 429 hides another result. */
export async function liftLimits({ call }: Pick<Operator, 'call'>): Promise<void> {
  const path = '/api/v1/admin/rate-limits';
  const limits = Type.Object({ classes: Type.Record(Type.String(), Type.Unknown()) });
  const { classes } = expectAnswer(await call('GET', path), 200, limits);
  const most = { requests: 100_000, window_seconds: 1, enabled: true };
  const lifted = Object.fromEntries(Object.keys(classes).map((name) => [name, most]));
  expectAnswer(await call('PUT', path, { classes: lifted }), 200, limits);
}

/** Waits until an update is clear: a server with a short maximum age of answers asks again soon. */
export async function untilClear(operator: Operator, updateId: string): Promise<void> {
  const untilMs = performance.now() + RECHECK_WITHIN_MS;
  for (;;) {
    const preview = await operator.call('POST', `/api/v1/updates/${updateId}/preview`, {});
    if (preview.status === 200 && JSON.stringify(preview.body).includes('"verdict":"clear"')) return;
    if (performance.now() > untilMs) throw new Error(`still ${JSON.stringify(preview)}`);
    await pause(500); // only the verdict itself shows that it was checked again
  }
}

export async function pause(ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  setTimeout(resolve, ms);
  await promise;
}

async function request(
  url: string,
  { method, body, token }: { method: string; body?: unknown; token?: string },
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const parsed: unknown = text === '' ? null : JSON.parse(text);
  return { status: response.status, body: parsed };
}
