import { PROBLEM_MEDIA_TYPE, PROBLEM_STATUS, Problem } from '@tidegate/protocol/problems';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type TObject, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { onTestFinished } from 'vitest';
import { CSV_MEDIA_TYPE } from '../platform/http/csv-rules.ts';
import { accepts, firstFault } from '../platform/http/first-fault.ts';
import { refusalsOf } from '../platform/http/route-answers.ts';

const JSON_TYPE = /^application\/json(;|$)/;
const Produced = Type.Object({ produces: Type.Array(Type.String()) });
const Coded = Type.Object({ code: Type.String() });

/** The test that makes a request fails if the answer is not as the OpenAPI document says. */
export function checkAnswers(app: FastifyInstance): void {
  const faults = watchAnswers(app);
  onTestFinished(() => {
    if (faults.size > 0) throw new Error(`not as documented: ${[...faults].join('\n')}`);
  });
}

/**
 * Compares every answer of an app with what the OpenAPI document says of its route: status, media type, body, headers,
 * and the code of a refusal. Returns the differences, which grow with each answer.
 */
export function watchAnswers(app: FastifyInstance): ReadonlySet<string> {
  const faults = new Set<string>();
  app.addHook('onSend', (request, reply, payload, done) => {
    const fault = faultOf(request, reply, payload);
    const { method, routeOptions } = request;
    if (fault !== null) faults.add(`${method} ${routeOptions.url} ${reply.statusCode}: ${fault}`);
    done();
  });
  return faults;
}

function faultOf(request: FastifyRequest, reply: FastifyReply, payload: unknown): string | null {
  const { statusCode } = reply;
  if (reply.getHeader('x-request-id') !== request.id) return 'no x-request-id';
  if (statusCode >= 400) return faultOfRefusal(request, reply, payload);
  const { access } = request.routeOptions.config;
  const { summary, response } = request.routeOptions.schema ?? {};
  // Pages are not in the document.
  if (summary === undefined || access === undefined) return null;
  const forms: ReadonlyMap<string, unknown> = new Map(Object.entries(response ?? { 204: Type.Null() }));
  const form = forms.get(String(statusCode));
  if (!Type.IsSchema(form)) return 'the status is not in the document';
  if (isStream(payload) || Value.Check(Produced, request.routeOptions.schema))
    return faultOfStream(request, reply);
  return faultOfBody(form, reply, payload);
}

function isStream(payload: unknown): boolean {
  return payload !== null && typeof payload === 'object';
}

/** What is streamed, or is no JSON, is tested where it is made. */
function faultOfStream({ routeOptions }: FastifyRequest, reply: FastifyReply): string | null {
  const type = String(reply.getHeader('content-type')).split(';', 1)[0];
  if (type === CSV_MEDIA_TYPE && routeOptions.config.csvColumns) return null;
  const { produces } = Value.Parse(Produced, routeOptions.schema);
  return produces.some((one) => one === type) ? null : `the media type ${type} is not in the document`;
}

function faultOfBody(form: TSchema, reply: FastifyReply, payload: unknown): string | null {
  if (Type.IsNull(form)) {
    return payload === undefined || payload === null || payload === ''
      ? null
      : 'a body that is not in the document';
  }
  if (typeof payload !== 'string') return 'no body';
  const type = String(reply.getHeader('content-type'));
  if (!JSON_TYPE.test(type)) return `the media type ${type} is not in the document`;
  return mismatch(closed(form), JSON.parse(payload));
}

function faultOfRefusal(
  { routeOptions, method, is404 }: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
) {
  const { statusCode } = reply;
  const { access, refuses = [], refusalForm } = routeOptions.config;
  const type = String(reply.getHeader('content-type'));
  const isPage = routeOptions.schema?.summary === undefined;
  if (isPage && !is404 && type !== PROBLEM_MEDIA_TYPE) return null;
  if (statusCode === 405 && reply.getHeader('allow') === undefined) return 'no allow';
  if (statusCode === 401 && reply.getHeader('www-authenticate') === undefined) return 'no www-authenticate';
  const isLater = statusCode === 429 || statusCode === 503;
  if (isLater && !/^[1-9]\d*$/.test(String(reply.getHeader('retry-after')))) return 'no retry-after';
  const body: unknown = typeof payload === 'string' && payload !== '' ? JSON.parse(payload) : null;
  if (refusalForm && type === 'application/json') return mismatch(refusalForm.schema, body);
  if (type !== PROBLEM_MEDIA_TYPE) return `the media type ${type} is not in the document`;
  if (method === 'HEAD' && body === null) return null;
  const fault = mismatch(Problem, body);
  if (fault !== null || !Value.Check(Coded, body)) return fault;
  const { code } = body;
  if (is404 || isPage || access === undefined || statusCode === 405 || statusCode === 500) return null;
  const allowed: readonly string[] = [...refusalsOf({ access, method, refuses })].filter(
    (one) => PROBLEM_STATUS[one] === statusCode,
  );
  return allowed.includes(code) ? null : `the code ${code} is not in the document`;
}

function mismatch(schema: TSchema, value: unknown): string | null {
  if (accepts(schema, value)) return null;
  const { path, message } = firstFault(schema, value);
  return `${path} ${message}`;
}

const closedForms = new WeakMap<TSchema, TSchema>();

/** The same without members that the schema does not name, so that no answer says more than the document. */
function closed(schema: TSchema): TSchema {
  const known = closedForms.get(schema);
  if (known) return known;
  const made = close(schema);
  closedForms.set(schema, made);
  return made;
}

function close(schema: TSchema): TSchema {
  if (Type.IsObject(schema)) return closeObject(schema);
  if (Type.IsArray(schema)) return changed(schema, { items: closed(schema.items) });
  if (Type.IsUnion(schema)) return changed(schema, { anyOf: schema.anyOf.map(closed) });
  if (!Type.IsRecord(schema)) return schema;
  const values = Object.entries(schema.patternProperties).map(([key, value]) => [key, closed(value)]);
  return changed(schema, { patternProperties: Object.fromEntries(values) });
}

function closeObject(schema: TObject): TSchema {
  // Without a member it is open on purpose, such as the options of WebAuthn.
  if (Object.keys(schema.properties).length === 0) return schema;
  const properties = Object.entries(schema.properties).map(([name, value]) => [name, closed(value)]);
  return changed(schema, { properties: Object.fromEntries(properties), additionalProperties: false });
}

/** A copy that keeps the hidden members by which TypeBox knows its schemas. */
function changed(schema: TSchema, members: object): TSchema {
  return Object.assign(Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema)), members);
}
