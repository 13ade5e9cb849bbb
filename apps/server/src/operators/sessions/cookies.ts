import { SESSION_LIFETIME_SECONDS } from './operator-tokens.ts';

export const CSRF_HEADER = 'x-csrf-token';

export interface SessionCookies {
  /** Set-Cookie lines of a new session: its token, hidden from scripts, and the CSRF token, which the console reads. */
  open(session: { token: string; csrfToken: string }): string[];
  close(): string[];
  /** The session token in a Cookie header; null without one, or with two, because somebody else set one of them. */
  read(header: string | undefined): string | null;
}

/**
 * `secure` when browsers reach the server by https (TLS or SERVICE_BASE_URL): the `__Host-` prefix then stops other
 * hosts of the domain from setting the cookies.
 */
export function createSessionCookies({ secure }: { secure: boolean }): SessionCookies {
  const prefix = secure ? '__Host-' : '';
  const session = `${prefix}tidegate_session`;
  const csrf = `${prefix}tidegate_csrf`;
  const attributes = `Path=/; SameSite=Strict${secure ? '; Secure' : ''}`;
  return {
    open: ({ token, csrfToken }) => [
      `${session}=${token}; ${attributes}; HttpOnly; Max-Age=${SESSION_LIFETIME_SECONDS}`,
      `${csrf}=${csrfToken}; ${attributes}; Max-Age=${SESSION_LIFETIME_SECONDS}`,
    ],
    close: () => [`${session}=; ${attributes}; HttpOnly; Max-Age=0`, `${csrf}=; ${attributes}; Max-Age=0`],
    read(header) {
      const found = (header ?? '')
        .split(';')
        .map((pair) => pair.trim())
        .filter((pair) => pair.startsWith(`${session}=`));
      const [only] = found;
      return found.length === 1 && only !== undefined ? only.slice(session.length + 1) : null;
    },
  };
}
