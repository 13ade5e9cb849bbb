import { randomBytes } from 'node:crypto';
import { makeSecret } from '../fleet-lock/credentials.ts';
import { addToken, revokeToken } from '../fleet-lock/manage-tokens.ts';
import { mountFleetLock } from '../fleet-lock/routes.ts';
import { createLimiter, STARTUP_PENALTY_MS } from '../rate-limits/limiter.ts';
import type { TestEngine } from './engines.ts';
import { createRebootScene } from './reboot-scene.ts';

interface Token {
  readonly id: string;
  readonly secret: string;
}

/** The queue of reboots with FleetLock clients beside it; each token may be used so often in a minute. */
export async function createFleetLockScene(engine: TestEngine, { requests = 1_000 } = {}) {
  const it = await createRebootScene(engine);
  const { app, platform, database } = it;
  const limiter = createLimiter({
    now: platform.now,
    bootedAt: platform.now() - STARTUP_PENALTY_MS,
    budgets: { of: () => ({ requests, windowSeconds: 60, enabled: true }) },
    random: platform.random,
  });
  mountFleetLock(app.routes, { platform, limiter });

  const body = (id: string, group: string) => JSON.stringify({ client_params: { id, group } });

  async function post(
    url: string,
    asked: { token?: Token; body: string; type?: string | undefined; protocol?: string | null },
  ) {
    const { token, type, protocol = 'true' } = asked;
    const basic = token && Buffer.from(`${token.id}:${token.secret}`).toString('base64');
    const answer = await app.inject({
      ...{ method: 'POST', url, payload: asked.body },
      headers: {
        ...(basic && { authorization: `Basic ${basic}` }),
        ...(type && { 'content-type': type }),
        ...(protocol !== null && { 'fleet-lock-protocol': protocol }),
      },
    });
    return { status: answer.statusCode, body: answer.json(), headers: answer.headers };
  }

  function client(id: string, { token, group = 'web' }: { token: Token; group?: string }) {
    async function call(url: string) {
      const { status, body: said } = await post(url, { token, body: body(id, group) });
      return { status, body: said };
    }
    return { preReboot: () => call('/v1/pre-reboot'), steadyState: () => call('/v1/steady-state') };
  }

  return {
    ...{ ...it, body, post, client },
    /** Of the right form, and of nobody. */
    noToken: { id: platform.newId(), secret: makeSecret(randomBytes) },
    async add(group: string): Promise<Token> {
      const made = await database.transact((tx) => addToken(tx, platform, { group, by: 'ada' }));
      if (!made.ok) throw new Error(made.why);
      return made;
    },
    revoke: (id: string) => database.transact((tx) => revokeToken(tx, platform, { id, by: 'ada' })),
    limits: (change: object) =>
      it.call('PUT', '/api/v1/reboot-slots', {
        ...{ group: 'web', max_at_once: 1, min_healthy: 0, halt_after: 2, ...change },
      }),
  };
}
