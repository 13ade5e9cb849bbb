import { LoginAnswer } from '@tidegate/protocol/operators-api';
import type { TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { expect } from 'vitest';
import type { Child } from './child.ts';

export const FIRST_OPERATOR = { username: 'nina', password: 'a long enough password' };

/** Becomes the first operator by the link that a starting server prints, and logs in. */
export async function becomeFirstOperator(server: Pick<Child, 'line'>, withinMs?: number) {
  const link = /(https?:\/\/\S+)\/setup\/(\S+)/.exec(await server.line(/\/setup\//, withinMs));
  const [page = '', url = '', secret = ''] = link ?? [];
  const shown = await fetch(page);
  expect([shown.status, shown.headers.get('content-type')]).toEqual([
    200,
    expect.stringContaining('text/html'),
  ]);
  expect((await post(`${url}/api/v1/auth/setup`, { secret, ...FIRST_OPERATOR })).status).toBeLessThan(300);
  expect((await fetch(page)).status).toBe(404); // the link works once
  const login = await parsed(await post(`${url}/api/v1/auth/login`, FIRST_OPERATOR), LoginAnswer);
  return { url, login };
}

export function post(url: string, body: unknown, token?: string): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  });
}

export async function parsed<T extends TSchema>(response: Response, schema: T) {
  const body: unknown = await response.json();
  return Value.Parse(schema, body);
}
