import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { BENCH_PASSWORD, BENCH_USER } from './fleet.ts';

export interface Call {
  (method: 'GET' | 'POST', path: string, body?: object): Promise<unknown>;
  readonly token: string;
}

const LoggedIn = Type.Object({ token: Type.String() });

/** Logs the first operator in. A call throws if it is refused. */
export async function logIn(url: string): Promise<Call> {
  async function send(
    method: 'GET' | 'POST',
    path: string,
    { token, body }: { token?: string; body?: object },
  ) {
    const answer = await fetch(url + path, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
    const parsed: unknown = JSON.parse(text);
    return parsed;
  }
  const credentials = { username: BENCH_USER, password: BENCH_PASSWORD };
  const answer = await send('POST', '/api/v1/auth/login', { body: credentials });
  const { token } = Value.Parse(LoggedIn, answer);
  const call = (method: 'GET' | 'POST', path: string, body?: object) =>
    send(method, path, { token, ...(body === undefined ? {} : { body }) });
  return Object.assign(call, { token });
}
