import type { SecretStore } from '../secrets/secret-store.ts';

/** The cookie of the server that bears a session; the prefix is there where the server is reached by https. */
const SESSION_COOKIE = /^(?:__Host-)?tidegate_session=([^;]*)/;
/** What stands in an answer where the session stood. */
export const WITHHELD = 'held-by-the-shell';

/**
 * The session with one server. It is taken out of the answers on their way to the page, which never has it, and put
 * into the requests on their way to the server.
 */
export interface Session {
  authorization(): Record<string, string>;
  /** What the page may see of an answer. */
  withhold(answer: { setCookie: readonly string[]; body: string }): Promise<string>;
  forget(): Promise<void>;
  isThere(): boolean;
}

/** `account` names the server in the store. */
export async function openSession(store: SecretStore, account: string): Promise<Session> {
  let token = await store.read(account);

  async function hold(next: string | null): Promise<void> {
    if (next === token) return;
    token = next;
    if (next === null) await store.remove(account);
    else await store.write(account, next);
  }

  return {
    authorization(): Record<string, string> {
      return token === null ? {} : { authorization: `Bearer ${token}` };
    },
    async withhold({ setCookie, body }) {
      const given = setCookie.flatMap((line) => SESSION_COOKIE.exec(line)?.[1] ?? []).at(-1);
      if (given === undefined) return body;
      await hold(given === '' ? null : given);
      return given === '' ? body : body.replaceAll(given, WITHHELD);
    },
    forget: () => hold(null),
    isThere: () => token !== null,
  };
}
