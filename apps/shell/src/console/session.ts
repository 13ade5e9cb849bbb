import type { SecretStore } from '../secrets/secret-store.ts';

/** The server's session cookie; it has the prefix over https. */
const SESSION_COOKIE = /^(?:__Host-)?tidegate_session=([^;]*)/;
/** Replaces the session in a response. */
export const WITHHELD = 'held-by-the-shell';

/**
 * The session with one server. It is removed from responses before the page sees them and added to requests before
 * they are sent; the page never has it.
 */
export interface Session {
  authorization(): Record<string, string>;
  /** Stores the session of a response; returns the body that the page may see. */
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
