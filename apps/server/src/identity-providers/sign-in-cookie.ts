import { createHash, timingSafeEqual } from 'node:crypto';
import { NEXT_MAX, ProviderId } from '@tidegate/protocol/identity-providers-api';
import { nullable, strict, Uuid } from '@tidegate/protocol/scalars';
import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Clock } from '../platform/clock.ts';
import type { RandomBytes } from '../platform/ids.ts';
import { openSecret, sealSecret } from '../platform/seal-secret.ts';

/** How long a sign-in may take at the provider, in milliseconds. */
export const SIGN_IN_LIFETIME_MS = 600_000;
const COOKIE_MAX_CHARS = 4_096;
const OWNER = 'sign-in';

const token = Type.String({ pattern: '^[\\w-]{43}$' });
/** What the server knows of a sign-in that is under way; only the browser that began it keeps it. */
const SignIn = strict({
  provider_id: ProviderId,
  purpose: Type.Enum(['login', 'step_up', 'bind']),
  /** The session that a proof is for, and its operator; null at a login. */
  session: nullable(strict({ id: Uuid, operator_id: Uuid, username: Type.String() })),
  ...{ state: token, nonce: token, verifier: token },
  redirect_uri: Type.String(),
  next: Type.String({ maxLength: NEXT_MAX }),
  began_at: Type.Integer(),
});
export type SignIn = Static<typeof SignIn>;
const Known = Compile(SignIn);

export interface SignInCookie {
  /** The Set-Cookie line of a sign-in that begins. A later one in the same browser takes its place. */
  open(signIn: SignIn): string;
  close(): string;
  /** The sign-in that this browser began; null without one, with two cookies, or when it took too long. */
  read(header: string | undefined): SignIn | null;
}

/**
 * A sealed cookie in place of rows: what outsiders begin costs the server nothing. It ties the answer of a provider to
 * the browser that asked. SameSite is Lax, because the browser comes back from another site.
 */
export function createSignInCookie({
  key,
  now,
  random,
  secure,
}: {
  key: Buffer;
  now: Clock;
  random: RandomBytes;
  secure: boolean;
}): SignInCookie {
  const name = `${secure ? '__Host-' : ''}tidegate_sign_in`;
  const attributes = `Path=/; SameSite=Lax${secure ? '; Secure' : ''}; HttpOnly`;
  return {
    open(signIn) {
      const sealed = sealSecret(Buffer.from(JSON.stringify(signIn)), { key, owner: OWNER, random });
      return `${name}=${sealed}; ${attributes}; Max-Age=${SIGN_IN_LIFETIME_MS / 1_000}`;
    },
    close: () => `${name}=; ${attributes}; Max-Age=0`,
    read(header) {
      const found = (header ?? '')
        .split(';')
        .map((pair) => pair.trim())
        .filter((pair) => pair.startsWith(`${name}=`));
      const value = found[0]?.slice(name.length + 1);
      if (found.length !== 1 || value === undefined || value.length > COOKIE_MAX_CHARS) return null;
      const opened = openSecret(value, { key, owner: OWNER });
      const signIn: unknown = opened && JSON.parse(opened.toString());
      if (!Known.Check(signIn)) return null;
      const ageMs = now() - signIn.began_at;
      return ageMs >= 0 && ageMs <= SIGN_IN_LIFETIME_MS ? signIn : null;
    },
  };
}

/** Whether the answer of a provider is to this sign-in. */
export function answers(signIn: SignIn, given: { providerId: string; states: readonly string[] }): boolean {
  const [state] = given.states;
  if (given.states.length !== 1 || state === undefined || given.providerId !== signIn.provider_id)
    return false;
  return timingSafeEqual(sha256(state), sha256(signIn.state));
}

/** What the server remembers of a used state. */
export function hashOfState(state: string): string {
  return sha256(`state ${state}`).toString('hex');
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
