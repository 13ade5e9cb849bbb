/** Operators of the demo; all have the password that is printed. */
export const PASSWORD = 'demo demo demo demo';
export const ADMIN = 'ada';

const BROWSERS = {
  ada: 'Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0',
  ben: 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15',
  eva: 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36',
  kim: 'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36',
};
export type Person = keyof typeof BROWSERS;

export type Call = (method: string, path: string, body?: object) => Promise<Record<string, unknown>>;

/** Acts in the name of an operator. Logs in again where the session has ended, and proves the password where it is asked for. */
export function actAs(person: Person, url: () => string): Call {
  let token = '';
  const send = (method: string, path: string, body?: object) =>
    fetch(`${url()}/api/v1${path}`, {
      method,
      headers: {
        ...{ 'content-type': 'application/json', 'user-agent': BROWSERS[person] },
        ...(token !== '' && { authorization: `Bearer ${token}` }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });

  async function logIn(): Promise<void> {
    token = '';
    const reply = await send('POST', '/auth/login', { username: person, password: PASSWORD });
    if (!reply.ok) throw new Error(`${person} cannot log in: ${await reply.text()}`);
    token = String(Object(await reply.json()).token);
  }

  return async (method, path, body) => {
    if (token === '') await logIn();
    let reply = await send(method, path, body);
    if (reply.status === 401) {
      await logIn();
      reply = await send(method, path, body);
    }
    let text = await reply.text();
    if (reply.status === 403 && text.includes('step_up_required')) {
      await send('POST', '/auth/step-up', { password: PASSWORD });
      reply = await send(method, path, body);
      text = await reply.text();
    }
    if (!reply.ok && reply.status !== 409)
      throw new Error(`${person}: ${method} ${path} got ${reply.status} ${text}`);
    return text === '' ? {} : Object(JSON.parse(text));
  };
}
