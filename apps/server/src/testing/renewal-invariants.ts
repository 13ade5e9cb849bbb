import { isDeepStrictEqual } from 'node:util';
import { ACCESS_TOKEN_LIFETIME_SECONDS } from '../agent-credentials/access-tokens.ts';
import { hashRefreshToken, parseRefreshToken } from '../agent-credentials/refresh-tokens.ts';
import type { Model } from './renewal-model.ts';
import { agrees, type Exchange, type State, type World } from './renewal-world.ts';

/** The changes between two reads of the database. */
export interface Step {
  world: World;
  /** Renewals, rebinds and revocations, one or several at once, with their answers. */
  exchanges: readonly Exchange[];
  restarted: boolean;
  before: State;
  after: State;
  /** The states that the model allows: several only while concurrent acts have several explanations. */
  models: readonly Model[];
}

interface Invariant {
  says: string;
  /** Null if the invariant does not apply to the step. */
  holds(step: Step): boolean | null | Promise<boolean | null>;
}

/** The invariants of section 3.6 that a single step can break; 7, 8 and 12 have properties of their own. */
export const INVARIANTS: Readonly<Record<number, Invariant>> = {
  1: {
    says: 'at most one token is current, and at most two are acceptable',
    holds({ world, after: { family } }) {
      const hashes = [...world.issued.keys()].map(hashRefreshToken);
      const current = hashes.filter((hash) => hash === family.cur_hash).length;
      const grace = hashes.filter((hash) => hash === family.prev_hash && family.prev_grace_used === 0).length;
      return current === 1 && grace <= 1 && family.cur_hash !== family.prev_hash;
    },
  },
  2: {
    says: 'a token is accepted at most twice, and the second time only as the previous one',
    holds({ world, exchanges, before }) {
      if (exchanges.every(({ answer }) => answer.status !== 200)) return null;
      if ([...world.issued.values()].some(({ accepted }) => accepted > 2)) return false;
      const [only, ...others] = exchanges;
      if (only?.act.do !== 'renew' || others.length > 0 || only.answer.status !== 200) return true;
      const isSecond = world.issued.get(only.act.token)?.accepted === 2;
      return !isSecond || before.family.prev_hash === hashRefreshToken(only.act.token);
    },
  },
  3: {
    says: 'a revoked family never renews again',
    holds({ before, exchanges }) {
      if (before.family.status !== 'revoked') return null;
      return exchanges.every(({ act, answer }) => act.do !== 'renew' || answer.status !== 200);
    },
  },
  4: {
    says: 'a revoked family never becomes active again',
    holds({ before, after }) {
      return before.family.status === 'revoked' ? isDeepStrictEqual(before.family, after.family) : null;
    },
  },
  5: {
    says: 'a revocation for reuse leaves exactly one critical event, any other revocation none',
    holds({ after: { family, events } }) {
      const byReuse = family.revoked_reason !== null && family.revoked_reason !== 'operator';
      return (events.REFRESH_TOKEN_REUSE ?? 0) === (byReuse ? 1 : 0);
    },
  },
  6: {
    says: 'a refusal (403, 429, 503, expired) changes nothing',
    holds({ exchanges, before, after }) {
      const [only, ...others] = exchanges;
      if (only?.act.do !== 'renew' || others.length > 0 || only.answer.status === 200) return null;
      const reused = (after.events.REFRESH_TOKEN_REUSE ?? 0) > (before.events.REFRESH_TOKEN_REUSE ?? 0);
      if (reused) return only.answer.status === 401;
      return isDeepStrictEqual([before.family, before.agent], [after.family, after.agent]);
    },
  },
  9: {
    says: 'tokens are unique, have 256 bits, and are stored nowhere in plain text',
    holds({ world, after }) {
      const secrets = [...world.issued.keys()].map((token) => parseRefreshToken(token)?.secret ?? '');
      if (new Set(secrets).size !== secrets.length) return false;
      const kept = JSON.stringify([after, world.log()]);
      return secrets.every((one) => Buffer.from(one, 'base64url').length === 32 && !kept.includes(one));
    },
  },
  10: {
    says: 'answers and database match some serial order',
    holds: ({ models, after }) => models.some((model) => agrees(model, after)),
  },
  11: {
    says: 'access tokens of a revoked family are refused at the next request',
    async holds({ world, before, after }) {
      if (before.family.status === 'revoked' || after.family.status !== 'revoked') return null;
      const age = world.terms().nowMs - after.family.last_rotated_at;
      if (age >= ACCESS_TOKEN_LIFETIME_SECONDS * 1_000) return null;
      const statuses = [...world.issued.values()].map(({ accessToken }) => world.use(accessToken));
      return (await Promise.all(statuses)).every((status) => status === 401);
    },
  },
  13: {
    says: 'after a restart the database holds exactly what was answered',
    holds({ restarted, before, after }) {
      return restarted ? isDeepStrictEqual(before, after) : null;
    },
  },
  14: {
    says: 'only a renewal binds a machine and only a rebind unbinds it, each with its event',
    holds({ before, after }) {
      const [from, to] = [before.agent.machine_id, after.agent.machine_id];
      if (from === to) return null;
      const more = (type: string) => (after.events[type] ?? 0) > (before.events[type] ?? 0);
      return (from === null || more('MACHINE_REBOUND')) && (to === null || more('MACHINE_BOUND'));
    },
  },
};

/** Counts the invariants that a step could have violated; throws for a violation. */
export async function checkInvariants(step: Step, seen: Map<string, number>): Promise<void> {
  for (const [number, { says, holds }] of Object.entries(INVARIANTS)) {
    const verdict = await holds(step);
    if (verdict === null) continue;
    seen.set(number, (seen.get(number) ?? 0) + 1);
    if (verdict) continue;
    const { exchanges, before, after, models } = step;
    const shown = models.map((model) => ({ ...model, issuedAtMs: [...model.issuedAtMs] }));
    throw new Error(`invariant ${number} (${says}): ${JSON.stringify({ exchanges, before, after, shown })}`);
  }
}
