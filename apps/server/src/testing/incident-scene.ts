import type { CheckInRequest } from '@tidegate/protocol/agent-api';
import { sql } from 'kysely';
import { TOTP, Secret as TotpSecret } from 'otpauth';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { type AgentClient, type Clients, openClients, type Request } from './app-clients.ts';
import { actionOf } from './approvals-app.ts';
import type { TestEngine } from './engines.ts';

const Tokens = Type.Object({ access_token: Type.String(), refresh_token: Type.String() });
const Reported = Type.Object({ updates: Type.Array(Type.Object({ update_id: Type.String() })) });
const Commands = Type.Object({ items: Type.Array(Type.Object({ id: Type.String() })) });
const Begun = Type.Object({ secret: Type.String() });
const Confirmed = Type.Object({ recovery_codes: Type.Array(Type.String()) });
/** Tables written outside of any act: last seen times, registry answers, budgets of refused reports, limits of all servers. */
const APART = ['agent_presence', 'provenances', 'release_times', 'outsider_usage', 'shared_counts'];

/** The whole application with one host, and helpers that cause incidents. */
export async function openIncidentScene(engine: TestEngine) {
  // Passkeys need a host name; the scene is addressed by IP.
  const clients = await openClients(engine, { baseUrl: 'http://localhost' });
  const { app, admin, send } = clients;
  const { database } = app.platform;
  const agent = await clients.enrol('machine-1');
  let packages = 0;

  async function must(request: Request, status = 200): Promise<unknown> {
    const answer = await send(request);
    if (answer.status === status) return answer.text === '' ? null : JSON.parse(answer.text);
    throw new Error(`${request.method} ${request.url} answered ${answer.status}: ${answer.text}`);
  }
  const asAgent = (path: string, body: object, method: 'POST' | 'PUT' = 'POST', of = agent): Request => ({
    ...{ method, body, token: of.accessToken, machineId: of.machineId },
    url: `/api/v1/agents/${of.agentId}${path}`,
  });
  const checkIn = (facts: Partial<CheckInRequest> = {}, of: AgentClient = agent): Request =>
    asAgent('/check-in', { ...IDLE, ...facts }, 'POST', of);
  const renewal = (refreshToken: string): Request => ({
    ...{ method: 'POST', url: '/api/v1/agents/renew', machineId: agent.machineId },
    body: { refresh_token: refreshToken },
  });

  /** A secret of an authenticator app that waits for its first code. */
  async function beginTotp(token: string): Promise<{ code: () => string }> {
    const begun = await must({ method: 'POST', url: '/api/v1/auth/totp', token });
    const totp = new TOTP({ secret: TotpSecret.fromBase32(Value.Parse(Begun, begun).secret) });
    return { code: () => totp.generate({ timestamp: app.platform.now() }) };
  }

  return {
    ...clients,
    agent,
    beginTotp,
    /** An authenticator app in use, at its next step. */
    async enrolTotp(token: string): Promise<{ code: () => string; recoveryCodes: string[] }> {
      const { code } = await beginTotp(token);
      const url = '/api/v1/auth/totp/confirm';
      const confirmed = await must({ method: 'POST', url, token, body: { code: code() } });
      app.platform.clock.advance(30_000);
      return { code, recoveryCodes: Value.Parse(Confirmed, confirmed).recovery_codes };
    },
    database,
    must,
    asAgent,
    checkIn,
    renewal,
    asAdmin: (url: string, body: object = {}, method: 'POST' | 'PUT' | 'DELETE' = 'POST'): Request => ({
      ...{ method, url, token: admin, body },
    }),
    async renew(refreshToken: string): Promise<string> {
      const tokens = Value.Parse(Tokens, await must(renewal(refreshToken)));
      agent.accessToken = tokens.access_token;
      return tokens.refresh_token;
    },
    /** An update with its plan: of npm, which may pass unchecked (A2), or of apt, which may not. */
    async planned(ecosystem: 'npm' | 'apt'): Promise<string> {
      const name = `package-${++packages}`;
      const plan = {
        resolved_at: '2026-11-21T09:00:00Z',
        actions: [actionOf({ name, version: '1.1.0', ecosystem })],
      };
      const update = { name, current_version: '1.0.0', available_version: '1.1.0', plan };
      const report = {
        ...{ scanned_at: '2026-11-21T09:00:00Z', complete: true, updates: [update] },
        packages: [{ name, version: '1.0.0' }],
      };
      const reported = await must(asAgent(`/inventory/${ecosystem}`, report, 'PUT'));
      return Value.Parse(Reported, reported).updates.at(-1)?.update_id ?? '';
    },
    /** The id of a command that its agent was given. */
    async delivered(updateId: string): Promise<string> {
      await must(checkIn());
      const url = `/api/v1/commands?update_id=${updateId}`;
      const { items } = Value.Parse(Commands, await must({ method: 'GET', url, token: admin }));
      return items[0]?.id ?? '';
    },
    /** Makes every write of an event of one type fail; the returned function ends that. */
    async refuseEvents(type: string): Promise<() => Promise<void>> {
      const statements = REFUSE[database.engine](type);
      for (const statement of statements.on) await run(statement);
      return async () => {
        for (const statement of statements.off) await run(statement);
      };
    },
    /** All stored rows. */
    async dump(): Promise<Record<string, unknown>> {
      const names = (await database.read.introspection.getTables()).map(({ name }) => name);
      const stored: Record<string, unknown> = {};
      for (const name of names.filter((table) => !APART.includes(table))) {
        const { rows } = await sql`SELECT * FROM ${sql.table(name)}`.execute(database.read);
        stored[name] = rows.map((row) => JSON.stringify(row)).toSorted();
      }
      return stored;
    },
  };

  async function run(statement: string): Promise<void> {
    await database.transact((tx) => sql.raw(statement).execute(tx));
  }
}

export type IncidentScene = Awaited<ReturnType<typeof openIncidentScene>>;

const IDLE: CheckInRequest = {
  ...{ agent_version: '1.0.0', boot_id: 'boot-1', uptime_seconds: 60 },
  ...{ received: [], key_set_version: 1, inventory_digest: {} },
};

const REFUSE: Record<Clients['app']['platform']['database']['engine'], (type: string) => Guard> = {
  sqlite: (type) => ({
    on: [
      `CREATE TRIGGER no_event BEFORE INSERT ON events WHEN NEW.type = '${type}'
        BEGIN SELECT RAISE(ABORT, 'no event'); END`,
    ],
    off: ['DROP TRIGGER no_event'],
  }),
  postgres: (type) => ({
    on: [
      `CREATE FUNCTION no_event() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no event'; END $$`,
      `CREATE TRIGGER no_event BEFORE INSERT ON unchained_events FOR EACH ROW WHEN (NEW.type = '${type}')
        EXECUTE FUNCTION no_event()`,
    ],
    off: ['DROP TRIGGER no_event ON unchained_events', 'DROP FUNCTION no_event'],
  }),
};

interface Guard {
  on: string[];
  off: string[];
}
