import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import type { RandomBytes } from '../../platform/ids.ts';
import type { OperatorRow } from '../store.ts';

/** How long a device stays known after its last login, in seconds. */
export const DEVICE_LIFETIME_SECONDS = 90 * 86_400;
const ID_BYTES = 16;
const FORM = /^([\w-]{22})\.([0-9]{1,12})\.([\w-]{43})$/;

type Owner = Pick<OperatorRow, 'id' | 'password_hash'>;

export interface KnownDevices {
  /** The Set-Cookie line that marks the browser as known to this operator; a known one keeps its id. */
  remember(operator: Owner, cookieHeader: string | undefined): string;
  /** The id of a known device; null without a login there within its lifetime and since the last password change. */
  find(operator: Owner, cookieHeader: string | undefined): string | null;
}

/**
 * A signed cookie from an earlier login. Wrong passwords from such a device are counted separately, so that nobody else
 * can slow its owner down. It grants no access. The signature covers operator, time and password hash: a new password
 * makes every device unknown.
 */
export function createKnownDevices({
  key,
  now,
  random,
  secure,
}: {
  key: Buffer;
  now: Clock;
  random: RandomBytes;
  secure: boolean;
}): KnownDevices {
  const name = `${secure ? '__Host-' : ''}tidegate_device`;

  function sign(operator: Owner, { id, issuedAt }: { id: string; issuedAt: number }): Buffer {
    const signed = JSON.stringify([operator.id, operator.password_hash, id, issuedAt]);
    return createHmac('sha256', key).update(signed).digest();
  }

  function find(operator: Owner, cookieHeader: string | undefined): string | null {
    const [, id, time, mac] = FORM.exec(cookieValue(cookieHeader, name)) ?? [];
    if (id === undefined || time === undefined || mac === undefined) return null;
    const issuedAt = Number(time);
    if (now() / 1_000 - issuedAt > DEVICE_LIFETIME_SECONDS) return null;
    const given = Buffer.from(mac, 'base64url');
    const expected = sign(operator, { id, issuedAt });
    return given.length === expected.length && timingSafeEqual(given, expected) ? id : null;
  }

  return {
    find,
    remember(operator, cookieHeader) {
      const id = find(operator, cookieHeader) ?? random(ID_BYTES).toString('base64url');
      const issuedAt = Math.floor(now() / 1_000);
      const mac = sign(operator, { id, issuedAt }).toString('base64url');
      const attributes = `Path=/; SameSite=Strict${secure ? '; Secure' : ''}; HttpOnly`;
      return `${name}=${id}.${issuedAt}.${mac}; ${attributes}; Max-Age=${DEVICE_LIFETIME_SECONDS}`;
    },
  };
}

/** Empty without the cookie, or with two of its name. */
function cookieValue(header: string | undefined, name: string): string {
  const found = (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`));
  return found.length === 1 ? (found[0]?.slice(name.length + 1) ?? '') : '';
}
