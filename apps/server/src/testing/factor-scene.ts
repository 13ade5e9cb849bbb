import { nullable } from '@tidegate/protocol/scalars';
import { Secret, TOTP } from 'otpauth';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { listEvents } from '../events/store.ts';
import type { TestEngine } from './engines.ts';
import { ADMIN, createOperatorApp, type LoggedIn, type OperatorAppOptions } from './operator-app.ts';
import { createAuthenticator, type SoftwareAuthenticator } from './software-authenticator.ts';

const LOGIN = '/api/v1/auth/login';
const PASSKEYS = '/api/v1/auth/passkeys';
const Begun = Type.Object({ secret: Type.String(), otpauth_uri: Type.String() });
const Codes = Type.Object({ recovery_codes: Type.Array(Type.String()) });
const Added = Type.Object({
  passkey: Type.Object({ id: Type.String() }),
  recovery_codes: nullable(Type.Array(Type.String())),
});

/** An authenticator app as on a telephone, on the test's clock. */
export interface CodeApp {
  secret: string;
  recoveryCodes: string[];
  /** The code of the current step, or of one that many steps away. */
  code(steps?: number): string;
}

type Headers = Record<string, string>;

/** The operators' side of the server with an admin, and helpers for second factors. Login limits are wide. */
export async function createFactorScene(engine: TestEngine, options: OperatorAppOptions = {}) {
  const scene = await createOperatorApp(engine, options);
  const { send, clock, database } = scene;
  await scene.rateLimits.change({ login: { requests: 1_000 } }, 'test');

  async function must(method: Method, url: string, rest: Rest = {}): Promise<unknown> {
    const answer = await send(method, url, rest);
    if (answer.statusCode >= 300) throw new Error(`${method} ${url}: ${answer.statusCode} ${answer.body}`);
    return answer.body === '' ? null : answer.json();
  }

  return {
    ...scene,
    must,
    /** Activates an authenticator app. Its next code is one of the next step. */
    async enrolTotp(headers: Headers): Promise<CodeApp> {
      const { secret } = Value.Parse(Begun, await must('POST', '/api/v1/auth/totp', { headers }));
      const totp = new TOTP({ secret: Secret.fromBase32(secret) });
      const code = (steps = 0) => totp.generate({ timestamp: clock.now() + steps * 30_000 });
      const payload = { code: code() };
      const answer = await must('POST', '/api/v1/auth/totp/confirm', { headers, payload });
      const { recovery_codes: recoveryCodes } = Value.Parse(Codes, answer);
      clock.advance(30_000);
      return { secret, recoveryCodes, code };
    },
    async addPasskey(
      headers: Headers,
      authenticator: SoftwareAuthenticator = createAuthenticator(),
      name = 'laptop',
    ) {
      const begun = await must('POST', `${PASSKEYS}/options`, { headers });
      const payload = { ...authenticator.create(begun), name };
      const added = Value.Parse(Added, await must('POST', PASSKEYS, { headers, payload }));
      return { authenticator, id: added.passkey.id, recoveryCodes: added.recovery_codes };
    },
    /** Status and code of a login with this beside the password. */
    async tryLogIn(more: object = {}, credentials: object = ADMIN): Promise<string> {
      const answer = await send('POST', LOGIN, { payload: { ...credentials, ...more } });
      return answer.statusCode === 200 ? '200' : `${answer.statusCode} ${answer.json().code}`;
    },
    async logInWith(more: object, credentials: object = ADMIN): Promise<LoggedIn['headers']> {
      const answer = await must('POST', LOGIN, { payload: { ...credentials, ...more } });
      return { authorization: `Bearer ${Value.Parse(Type.Object({ token: Type.String() }), answer).token}` };
    },
    async addOperator(headers: Headers, username: string, role = 'viewer') {
      const payload = { username, password: `the password of ${username}`, role };
      const made = await must('POST', '/api/v1/admin/operators', { headers, payload });
      const { id } = Value.Parse(Type.Object({ id: Type.String() }), made);
      return { id, credentials: { username, password: payload.password } };
    },
    /** The content of events of a type, newest first. */
    async eventsOf(type: string): Promise<Record<string, unknown>[]> {
      const rows = await listEvents(database.read, {
        filter: { type },
        scope: null,
        limit: 100,
        before: null,
      });
      return rows.map((row) => JSON.parse(row.content));
    },
  };
}

type Send = Awaited<ReturnType<typeof createOperatorApp>>['send'];
type Method = Parameters<Send>[0];
type Rest = NonNullable<Parameters<Send>[2]>;
