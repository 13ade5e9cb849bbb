import { type PersonClaims, startIdentityProvider } from '@tidegate/testkit/identity-provider';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { onTestFinished } from 'vitest';
import type { TestEngine } from './engines.ts';
import { createFactorScene } from './factor-scene.ts';
import type { OperatorAppOptions } from './operator-app.ts';

export const PROVIDERS = '/api/v1/admin/identity-providers';
const Started = Type.Object({ url: Type.String() });
type Headers = Record<string, string>;
/** What `inject` calls the host of this server. */
export const ORIGIN = 'http://localhost';

export const ADMINS = { group: 'admins', role: 'admin', groups: null } as const;

/** The operators' side of the server with an admin, and a real provider on this machine's clock. */
export async function createProviderScene(engine: TestEngine, options: OperatorAppOptions = {}) {
  const scene = await createFactorScene(engine, { startMs: Date.now(), ...options });
  const address = await scene.app.listen({ host: '127.0.0.1', port: 0 });
  const provider = await startIdentityProvider({
    redirectUris: [`${ORIGIN}/sign-in/house/callback`],
    postLogoutRedirectUris: [`${ORIGIN}/login`],
    backchannelLogoutUri: `${address}/sign-in/house/logout`,
  });
  onTestFinished(() => provider.stop());
  const { headers: admin } = await scene.logIn();

  async function addProvider(fields: object = {}): Promise<void> {
    const { issuer, clientId, clientSecret } = provider;
    const payload = {
      ...{ id: 'house', name: 'House', issuer, client_id: clientId, client_secret: clientSecret },
      ...{ mapping: [ADMINS], creates_operators: true, enabled: true, ...fields },
    };
    await scene.must('POST', PROVIDERS, { headers: admin, payload });
  }

  async function begin(url: string, { payload, headers = {} }: { payload: object; headers?: Headers }) {
    const answer = await scene.send('POST', url, { payload, headers });
    if (answer.statusCode !== 200) throw new Error(`${url}: ${answer.statusCode} ${answer.body}`);
    const cookie = answer.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
    return { url: Value.Parse(Started, answer.json()).url, cookie };
  }

  /** The answer to the browser that comes back, in words. */
  async function comeBack(url: string, cookie: string) {
    const { pathname, search } = new URL(url);
    const answer = await scene.send('GET', `${pathname}${search}`, { headers: { cookie } });
    const session = answer.cookies.find(({ name }) => name === 'tidegate_session')?.value ?? null;
    return {
      status: answer.statusCode,
      place: answer.headers.location,
      told: /<p role="alert">(.*?)<\/p>/.exec(answer.body)?.[1] ?? null,
      headers: { authorization: `Bearer ${session}` },
      hasSession: session !== null,
    };
  }

  const login = (next?: string) =>
    begin('/api/v1/auth/login/provider', { payload: { provider_id: 'house', ...(next ? { next } : {}) } });
  return {
    ...scene,
    ...{ provider, admin, addProvider, begin, comeBack, login },
    async change(payload: object): Promise<void> {
      await scene.must('PATCH', `${PROVIDERS}/house`, { headers: admin, payload });
    },
    /** A whole login of this person, or of the last one. */
    async signIn(person?: PersonClaims) {
      if (person) provider.signInAs(person);
      const { url, cookie } = await login();
      return comeBack(await provider.visit(url), cookie);
    },
    /** Whose session it is, or the status of the refusal. */
    async whoIs(headers: Headers) {
      const answer = await scene.send('GET', '/api/v1/auth/session', { headers });
      return answer.statusCode === 200 ? answer.json().operator : answer.statusCode;
    },
  };
}
