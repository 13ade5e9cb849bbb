import { strict } from '@tidegate/protocol/scalars';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { expect, onTestFinished, test } from 'vitest';
import { Refusal } from '../platform/http/refusal.ts';
import { createHttpServer } from '../platform/http/server.ts';
import { watchAnswers } from './check-answers.ts';
import { ENGINES } from './engines.ts';
import { createTestPlatform } from './test-platform.ts';

const [engine] = ENGINES;

async function faultsOf(answer: (reply: FastifyReply) => unknown): Promise<string[]> {
  if (!engine) throw new Error('SQLite is always there');
  const { log } = createTestPlatform(await engine.open());
  const nobody = () => Promise.reject(new Refusal('unauthenticated', { detail: 'nobody' }));
  const own = { judge: () => {}, countRefusal: () => {} };
  const guards = { public: async () => {}, anyone: async () => null, own, agent: nobody, operator: nobody };
  const app = createHttpServer({ log, guards, trustedProxies: [], tls: null });
  onTestFinished(() => app.close());
  const faults = watchAnswers(app);
  app.route({
    ...{ method: 'GET', url: '/x' },
    config: { access: { kind: 'public', limit: 'public_access' }, refuses: ['conflict'] },
    schema: {
      summary: 'x',
      response: {
        200: Type.Object({ parts: Type.Array(Type.Object({ name: Type.String() })) }),
        202: strict({}),
      },
    },
    handler: async (_, reply) => answer(reply),
  });
  await app.inject('/x');
  return [...faults];
}

test.each<[string, (reply: FastifyReply) => unknown, string[]]>([
  ['a documented answer', () => ({ parts: [{ name: 'a' }] }), []],
  ['another documented status', (reply) => reply.code(202).send({}), []],
  ['a documented refusal', () => refuse('conflict'), []],
  ['a refusal of every route of its kind', () => refuse('rate_limited', { retryAfterSeconds: 1 }), []],
  ['an unexpected error', () => Promise.reject(new Error('x')), []],
  ['a missing member', () => ({}), ['GET /x 200: /parts is required']],
  [
    'a member that the document does not name',
    () => ({ parts: [{ name: 'a', secret: 'b' }] }),
    ['GET /x 200: /parts/0/secret is not a field here; allowed: name'],
  ],
  ['another status', (reply) => reply.code(201).send({}), ['GET /x 201: the status is not in the document']],
  [
    'another media type',
    (reply) => reply.type('text/plain').send('x'),
    ['GET /x 200: the media type text/plain is not in the document'],
  ],
  [
    'another code',
    () => refuse('plan_required'),
    ['GET /x 409: the code plan_required is not in the document'],
  ],
  ['a 429 without a time', () => refuse('rate_limited'), ['GET /x 429: no retry-after']],
])('%s', async (_, answer, faults) => {
  expect(await faultsOf(answer)).toEqual(faults);
});

function refuse(code: ConstructorParameters<typeof Refusal>[0], members = {}): never {
  throw new Refusal(code, { detail: 'x', ...members });
}
