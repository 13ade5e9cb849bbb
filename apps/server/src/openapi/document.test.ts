import { PROBLEM_STATUS } from '@tidegate/protocol/problems';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { createTestApp } from '../testing/test-app.ts';

const [engine] = ENGINES;
const NOBODY = '01900000-0000-7000-8000-00000000beef';
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'] as const;

const Media = Type.Record(Type.String(), Type.Object({ schema: Type.Unknown() }));
const AnswerRef = Type.Object({ $ref: Type.String() });
const Answered = Type.Object({
  description: Type.String(),
  headers: Type.Record(Type.String(), Type.Unknown()),
  content: Type.Record(Type.String(), Type.Object({ schema: Type.Unknown() })),
});
const ProblemForm = Type.Object({
  allOf: Type.Tuple([
    AnswerRef,
    Type.Object({
      properties: Type.Object({
        status: Type.Object({ const: Type.Integer() }),
        code: Type.Object({ enum: Type.Array(Type.String(), { minItems: 1 }) }),
      }),
    }),
  ]),
});
const Document = Type.Object({
  paths: Type.Record(
    Type.String(),
    Type.Record(
      Type.String(),
      Type.Object({
        security: Type.Array(Type.Record(Type.String(), Type.Array(Type.String()))),
        responses: Type.Record(Type.String(), Type.Unknown()),
        requestBody: Type.Optional(Type.Object({ required: Type.Boolean(), content: Media })),
      }),
    ),
  ),
  components: Type.Object({
    responses: Type.Record(Type.String(), Answered),
    securitySchemes: Type.Record(Type.String(), Type.Unknown()),
  }),
});
const STATUSES: ReadonlyMap<string, number> = new Map(
  Object.entries({ ...PROBLEM_STATUS, internal_error: 500 }),
);

function nameOf(answer: unknown): string {
  return Value.Parse(AnswerRef, answer).$ref.replace('#/components/responses/', '');
}

describe('every operation', () => {
  test('lists its refusals by status, each with its media type, its codes and its headers', async () => {
    const { paths, components } = await openDocument();
    const wrong: string[] = [];
    for (const [path, operations] of Object.entries(paths)) {
      for (const [method, { security, responses }] of Object.entries(operations)) {
        const at = `${method} ${path}`;
        const statuses = Object.keys(responses).map(Number);
        if (!statuses.some((status) => status < 300)) wrong.push(`${at}: no success`);
        for (const needed of [400, 408, 431, 500]) {
          if (!statuses.includes(needed)) wrong.push(`${at}: no ${needed}`);
        }
        const isSecured = security.some((scheme) => Object.keys(scheme).some((name) => name !== 'machineId'));
        if (isSecured && !statuses.includes(401)) wrong.push(`${at}: no 401`);
        for (const name of security.flatMap(Object.keys)) {
          if (!Object.hasOwn(components.securitySchemes, name)) wrong.push(`${at}: no scheme ${name}`);
        }
        for (const status of statuses.filter((one) => one >= 400)) {
          wrong.push(...faultsOf(components.responses[nameOf(responses[status])], { at, status }));
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  test('is the whole of its path: another method is 405, and Allow has the methods of the document', async () => {
    const { http, paths } = await openDocument();
    const wrong: string[] = [];
    for (const [path, operations] of Object.entries(paths)) {
      const declared = Object.keys(operations).map((name) => name.toUpperCase());
      const url = path.replace(/\{\w+\}/g, NOBODY);
      for (const method of METHODS.filter((one) => !declared.includes(one))) {
        const { statusCode, headers } = await http.inject({ method, url });
        const allowed = String(headers.allow).split(', ').sort();
        if (statusCode !== 405 || allowed.join() !== declared.sort().join()) {
          wrong.push(`${method} ${path}: ${statusCode}, ${allowed}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  test('keeps the patterns of names that validation enforces', async () => {
    const { paths } = await openDocument();
    const body = paths['/logs/client-error']?.post?.requestBody;
    expect(body?.content['application/json']?.schema).toMatchObject({
      properties: { metadata: { propertyNames: { pattern: '^[A-Za-z0-9_.-]{1,64}$' }, maxProperties: 32 } },
    });
  });

  test('of which the body may be absent says so', async () => {
    const { paths } = await openDocument();
    const bodyOf = (path: string) => paths[path]?.post?.requestBody?.required;
    expect(bodyOf('/api/v1/agents/{agent_id}/revoke')).toBe(false);
    expect(bodyOf('/api/v1/agents/{agent_id}/reboot')).toBe(false);
    expect(bodyOf('/api/v1/agents/tags')).toBe(true);
  });
});

function faultsOf(
  answer: Static<typeof Answered> | undefined,
  { at, status }: { at: string; status: number },
): string[] {
  if (answer === undefined) return [`${at} ${status}: no such answer`];
  const faults: string[] = [];
  const needed =
    status === 401 ? ['www-authenticate'] : status === 429 || status === 503 ? ['retry-after'] : [];
  for (const name of [...needed, 'x-request-id']) {
    if (!Object.hasOwn(answer.headers, name)) faults.push(`${at} ${status}: no header ${name}`);
  }
  const isFleetLock = at.startsWith('post /v1/');
  const problem = answer.content['application/problem+json']?.schema;
  if (problem === undefined) return isFleetLock ? faults : [...faults, `${at} ${status}: no problem+json`];
  const [, { properties }] = Value.Parse(ProblemForm, problem).allOf;
  // 408 and 431 are faults of HTTP with the general code.
  const isOfHttp = status === 408 || status === 431;
  for (const code of properties.code.enum) {
    if (!isOfHttp && STATUSES.get(code) !== status) faults.push(`${at}: ${code} is not ${status}`);
  }
  return properties.status.const === status ? faults : [...faults, `${at} ${status}: another status`];
}

async function openDocument() {
  if (!engine) throw new Error('SQLite is always there');
  const { http } = await createTestApp(engine);
  await http.ready();
  return { http, ...Value.Parse(Document, http.swagger()) };
}
