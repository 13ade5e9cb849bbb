import {
  formRefreshToken,
  hashRefreshToken,
  parseRefreshToken,
} from '../agent-credentials/refresh-tokens.ts';
import type { Database } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import {
  type AgentsApp,
  call,
  createAgentsApp,
  type EnrolledAgent,
  enrol,
  HOST,
  makeRegistrationToken,
  renewal,
} from './agents-app.ts';
import { faulty } from './faulty-database.ts';
import { type Act, type Answer, COUNTED, type Model, type Terms } from './renewal-model.ts';
import { type Stage, scheduled } from './scheduled-database.ts';

const DAY_MS = 86_400_000;
/** Longer than a token's life, so that both ends are reached. */
export const MAX_AGE_MS = 200 * DAY_MS;
export const TAKEN_MACHINE = 'machine-taken';
const WIDE = { requests: 100_000, windowSeconds: 60, enabled: true };
const NONE = { requests: 0, windowSeconds: 60, enabled: true };

/** One database with two servers: a restart continues with the other one, whose memory is empty. */
export interface RenewalStage {
  apps: readonly [AgentsApp, AgentsApp];
  stage: Stage;
  failing: { now: boolean };
  /** Seats for future agents: a token for each would double the cost of a run. */
  seats: { token: string; left: number };
}

const SEATS = 500;

export async function createRenewalStage(database: Database): Promise<RenewalStage> {
  const stage: Stage = { scheduler: null };
  const failing = { now: false };
  const wrapped = faulty(scheduled(database, stage), failing);
  const [one, other] = ['one', 'other'].map((seed) =>
    createAgentsApp(wrapped, { seed, familyMaxAgeMs: MAX_AGE_MS }),
  );
  if (!one || !other) throw new Error('two seeds are two apps');
  await enrol(one, TAKEN_MACHINE);
  return { apps: [one, other], stage, failing, seats: { token: '', left: 0 } };
}

/** The agent's rows in the database, which alone decide. */
export interface State {
  family: Tables['refresh_families'];
  agent: { machine_id: string | null; status: string };
  events: Record<string, number>;
}

export interface Exchange {
  act: Act;
  answer: Answer;
}

/** One agent of one run, in front of the real store. */
export interface World {
  readonly agent: EnrolledAgent;
  readonly familyId: string;
  readonly machines: readonly [string, string, string];
  /** Its refresh tokens, oldest first; each with its access token and its answers with status 200. */
  readonly issued: Map<string, { accessToken: string; accepted: number }>;
  readonly terms: () => Terms;
  advance(ms: number): void;
  restart(): void;
  act(act: Act, fault?: 'none' | 'limit' | 'database'): Promise<Answer>;
  /** An ordinary request with an access token: its status. */
  use(accessToken: string): Promise<number>;
  observe(): Promise<State>;
  log(): readonly string[];
  aheadToken(): string;
}

let runs = 0;

export async function createWorld(stage: RenewalStage): Promise<{ world: World; model: Model }> {
  const run = ++runs;
  const machines = [`machine-${run}-a`, `machine-${run}-b`, TAKEN_MACHINE] as const;
  let app = stage.apps[run % 2 === 0 ? 0 : 1];
  for (const { platform } of stage.apps) platform.lines.length = 0;
  const agent = await takeSeat(stage, machines[0]);
  const familyId = parseRefreshToken(agent.refresh_token)?.familyId ?? '';
  const issued = new Map([[agent.refresh_token, { accessToken: agent.access_token, accepted: 0 }]]);
  const nowMs = () => app.platform.now();

  async function renew(act: Extract<Act, { do: 'renew' }>): Promise<Answer> {
    const { status, body } = await renewal(app, act.token, {
      machineId: act.machine,
      ...(act.requestId === null ? {} : { requestId: act.requestId }),
    });
    if (status !== 200) return { status, child: null };
    const parent = issued.get(act.token);
    if (parent) parent.accepted++;
    const known = issued.get(body.refresh_token);
    issued.set(body.refresh_token, { accessToken: body.access_token, accepted: known?.accepted ?? 0 });
    return { status, child: body.refresh_token };
  }

  const world: World = {
    agent,
    familyId,
    machines,
    issued,
    terms: () => ({ nowMs: nowMs(), maxAgeMs: MAX_AGE_MS, takenMachine: TAKEN_MACHINE }),
    advance(ms) {
      for (const { platform } of stage.apps) platform.clock.advance(ms);
      stage.seats.left = 0; // a registration token lives for a day
    },
    restart() {
      app = app === stage.apps[0] ? stage.apps[1] : stage.apps[0];
    },
    async act(act, fault = 'none') {
      const { budgets } = app;
      const table = budgets.table();
      stage.failing.now = fault === 'database';
      if (fault === 'limit') budgets.replace({ ...table, agent_renewal: NONE });
      try {
        if (act.do === 'renew') return await renew(act);
        const [url, body] = OPERATOR_ACTS[act.do](agent.agent_id);
        const { status } = await call(app, 'POST', url, { token: 'admin', ...(body ? { body } : {}) });
        return { status, child: null };
      } finally {
        stage.failing.now = false;
        budgets.replace({ ...table, agent_renewal: WIDE });
      }
    },
    async use(token) {
      const url = `/api/v1/agents/${agent.agent_id}/events`;
      return (await call(app, 'POST', url, { token, machineId: machines[0] })).status;
    },
    observe: () => observe(app.platform.database, { agentId: agent.agent_id, familyId }),
    log: () => stage.apps.flatMap(({ platform }) => platform.lines),
    aheadToken: () =>
      formRefreshToken(app.renewal.tagKey, { familyId, seq: 1_000, secret: app.platform.random(32) }),
  };
  const model: Model = {
    agent: 'active',
    family: 'active',
    reason: null,
    machine: machines[0],
    current: agent.refresh_token,
    previous: null,
    displaced: null,
    graceUsed: false,
    requestId: null,
    issuedAtMs: new Map([[agent.refresh_token, nowMs()]]),
    createdAtMs: nowMs(),
    events: NO_EVENTS,
  };
  return { world, model };
}

async function takeSeat({ apps: [app], seats }: RenewalStage, machineId: string): Promise<EnrolledAgent> {
  if (seats.left === 0) {
    seats.token = await makeRegistrationToken(app, SEATS);
    seats.left = SEATS;
  }
  seats.left--;
  const { status, body } = await call(app, 'POST', '/api/v1/agents/register', {
    token: seats.token,
    machineId,
    body: HOST,
  });
  if (status !== 201) throw new Error(`enrolment answered ${status}`);
  return { ...body, machineId };
}

const NO_EVENTS: Model['events'] = {
  REFRESH_TOKEN_REUSE: 0,
  REFRESH_GRACE_USED: 0,
  MACHINE_ID_MISMATCH: 0,
  MACHINE_BOUND: 0,
  MACHINE_REBOUND: 0,
  AGENT_REVOKED: 0,
};

const OPERATOR_ACTS = {
  revoke: (id: string) => [`/api/v1/agents/${id}/revoke`, null] as const,
  rebind: (id: string) => [`/api/admin/agents/${id}/rebind-machine-id`, { reason: 'new board' }] as const,
};

async function observe(
  { read }: Database,
  { agentId, familyId }: { agentId: string; familyId: string },
): Promise<State> {
  const [family, agent, rows] = await Promise.all([
    read.selectFrom('refresh_families').selectAll().where('id', '=', familyId).executeTakeFirstOrThrow(),
    read
      .selectFrom('agents')
      .select(['machine_id', 'status'])
      .where('id', '=', agentId)
      .executeTakeFirstOrThrow(),
    read.selectFrom('events').select('type').where('agent_id', '=', agentId).execute(),
  ]);
  const events: Record<string, number> = {};
  for (const { type } of rows) events[type] = (events[type] ?? 0) + 1;
  return { family, agent, events };
}

/** Compares the database with the model, field by field. */
export function agrees(model: Model, { family, agent, events }: State): boolean {
  const hashOf = (token: string | null) => (token === null ? null : hashRefreshToken(token));
  const displaced = model.displaced === null ? '[]' : JSON.stringify([hashOf(model.displaced)]);
  return (
    family.status === model.family &&
    family.revoked_reason === model.reason &&
    family.cur_hash === hashOf(model.current) &&
    family.cur_issued_at === model.issuedAtMs.get(model.current) &&
    family.prev_hash === hashOf(model.previous) &&
    family.prev_grace_used === (model.graceUsed ? 1 : 0) &&
    family.displaced_hashes === displaced &&
    (family.sealed_child !== null) === (model.requestId !== null && model.family === 'active') &&
    agent.machine_id === model.machine &&
    agent.status === model.agent &&
    COUNTED.every((type) => (events[type] ?? 0) === model.events[type])
  );
}
