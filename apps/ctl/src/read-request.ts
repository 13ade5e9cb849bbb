import type { Client } from '@tidegate/client/client';
import type { OperationName } from '@tidegate/client/outcome';
import type { Schema } from '@tidegate/client/request-shape';
import { REQUESTS } from '@tidegate/client/requests';
import { UsageError } from '@tidegate/terminal/read-args';
import { Errors } from 'typebox/schema';
import { findHost, findNamed } from './find-named.ts';
import { bodyForm, type Member, valuesOf, withoutNull } from './members.ts';
import { boundsOf, takesSeveral } from './option-words.ts';
import type { Declared } from './words.ts';

/** Faults of a request that are named. */
const NAMED_FAULTS = 3;

/** A request in the parts that the client takes. */
export interface Request {
  readonly path: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

type Value = string | boolean | readonly (string | boolean)[] | undefined;
export type Values = Readonly<Record<string, Value>>;

/** What reading a request may ask for. */
export interface Sources {
  readonly client: Client;
  readonly nowMs: number;
  /** Text of a file, or of the standard input for `-`. */
  readonly readFile: (path: string) => Promise<string>;
  /** A secret that nobody else sees. */
  readonly readSecret: (what: string) => Promise<string>;
}

/** Makes the request of the words. @throws UsageError that names the options that do not fit. */
export async function readRequest(
  act: Declared,
  { operands, values }: { operands: readonly string[]; values: Values },
  sources: Sources,
): Promise<Request> {
  const { operation, members, words } = act;
  const given = { ...words.defaults?.(sources.nowMs), ...values, ...operandValues(act, operands) };
  const parts: Record<Member['place'], Record<string, unknown>> = { path: {}, query: {}, body: {} };
  const file = members.find(({ kind }) => kind === 'file');
  if (given.file === undefined && act.call.needs?.includes('file'))
    throw new UsageError('--file FILE is needed');
  if (file && typeof given.file === 'string') await takeFile(given.file);
  for (const [key, value] of Object.entries(words.fixed ?? {})) place(parts.body, key.split('.'), value);
  for (const member of members) {
    const value = await memberValue(member, given, { ...sources, act });
    if (value !== undefined) place(parts[member.place], member.at, value);
    else if (member.isNullable && member.isNeeded && given.file === undefined)
      place(parts.body, member.at, null);
  }
  const hasBody = REQUESTS[operation].body !== null;
  const request: Request = { path: parts.path, query: parts.query, ...(hasBody ? { body: parts.body } : {}) };
  const faults = faultsOf(operation, request, bodyForm(REQUESTS[operation], words));
  if (faults.length > 0) {
    throw new UsageError(tellFaults(faults, act).slice(0, NAMED_FAULTS).join('; '));
  }
  return request;

  async function takeFile(path: string): Promise<void> {
    const read = parseJson(await sources.readFile(path), path);
    if (words.fileIs !== undefined) place(parts.body, [words.fileIs], read);
    else if (isRecord(read)) parts.body = without(read, words.ignores ?? []);
    else throw new UsageError(`${path} is no JSON object`);
  }
}

function operandValues({ operands, call, words }: Declared, given: readonly string[]): Values {
  const [last] = operands.slice(-1);
  const takesMany = last?.kind === 'many' || last?.kind === 'hosts';
  const fits = takesMany ? given.length >= operands.length : given.length === operands.length;
  if (!fits) {
    const wanted = (call.operands ?? []).join(' ') || 'no words';
    throw new UsageError(
      `${words.act || 'this'} takes ${wanted}, not ${given.length === 0 ? 'nothing' : given.join(' ')}`,
    );
  }
  return Object.fromEntries(
    operands.map((member, i) => [member.name, takesMany && member === last ? given.slice(i) : given[i]]),
  );
}

async function memberValue(
  member: Member,
  given: Values,
  { client, readSecret, act }: Sources & { act: Declared },
): Promise<unknown> {
  const { kind, name, schema } = member;
  if (kind === 'secret') return readSecret(name.replaceAll('-', ' '));
  if (kind === 'hosts_of')
    return act.words.fileIs === undefined && given.file !== undefined
      ? undefined
      : scopeOf(given, schema, client);
  const value = given[name];
  if (kind === 'file' || value === undefined) return undefined;
  if (kind === 'many') return list(value);
  if (kind === 'hosts') return Promise.all([...new Set(list(value))].map((host) => findHost(client, host)));
  if (typeof value !== 'string') return value;
  if (kind === 'host') return findHost(client, value);
  if (kind === 'whole') return wholeOf(name, value, schema);
  const { byName } = act.words;
  return member.place === 'path' && byName ? findNamed(client, byName, value) : value;
}

async function scopeOf(given: Values, schema: Schema, client: Client): Promise<unknown> {
  const [groups, tags, named] = [list(given.group), list(given.tag), list(given.host)];
  if (groups.length + tags.length + named.length === 0) return { kind: 'all' };
  const hosts = await Promise.all([...new Set(named)].map((host) => findHost(client, host)));
  if (takesSeveral(schema)) return { kind: 'some', groups, hosts, ...(tags.length > 0 ? { tags } : {}) };
  const [group] = groups;
  const [agentId] = hosts;
  if (group !== undefined && agentId !== undefined) throw new UsageError('give --group or --host, not both');
  return group === undefined ? { kind: 'host', agent_id: agentId } : { kind: 'group', group };
}

function list(value: Value): string[] {
  if (value === undefined) return [];
  return (Array.isArray(value) ? value : [value]).map(String);
}

function wholeOf(name: string, value: string, schema: Schema): number {
  if (/^-?\d{1,15}$/.test(value)) return Number(value);
  const bounds = boundsOf(withoutNull(schema));
  throw new UsageError(`--${name} must be a whole number${bounds === null ? '' : `, ${bounds}`}`);
}

function place(into: Record<string, unknown>, at: readonly string[], value: unknown): void {
  const [name = '', ...rest] = at;
  if (rest.length === 0) {
    into[name] = value;
    return;
  }
  const inner = into[name];
  const next: Record<string, unknown> = isRecord(inner) ? { ...inner } : {};
  into[name] = next;
  place(next, rest, value);
}

interface RequestFault {
  readonly place: Member['place'];
  readonly at: readonly string[];
  readonly keyword: string;
  readonly message: string;
  readonly schema: Schema;
  readonly value: unknown;
}

/** What the schemas of the document do not allow. `form`: of the forms of the body, the one that is meant. */
export function faultsOf(
  operation: OperationName,
  { path, query, body }: Request,
  form: Schema | null = REQUESTS[operation].body,
): RequestFault[] {
  const shape = REQUESTS[operation];
  const need = (place: 'path' | 'query', names: readonly string[], given: object) =>
    names
      .filter((name) => !(name in given))
      .map((name) => ({
        place,
        at: [name],
        keyword: 'required',
        message: 'is needed',
        schema: {},
        value: undefined,
      }));
  const check = (place: 'path' | 'query', schemas: Readonly<Record<string, Schema>>, given: object) =>
    Object.entries(given).flatMap(([name, value]) =>
      faultsIn(place, [name], { schema: schemas[name] ?? {}, value }),
    );
  return [
    ...need('path', Object.keys(shape.path), path),
    ...need('query', shape.needs, query),
    ...check('path', shape.path, path),
    ...check('query', shape.query, query),
    ...(form === null ? [] : faultsIn('body', [], { schema: form, value: body })),
  ];
}

function faultsIn(
  place: Member['place'],
  at: readonly string[],
  { schema, value }: { schema: Schema; value: unknown },
): RequestFault[] {
  const [isRight, errors] = Errors(schema, value);
  if (isRight) return [];
  return errors.flatMap(({ keyword, instancePath, params, message }) => {
    const inner = [...at, ...instancePath.split('/').slice(1)];
    const missing = 'requiredProperties' in params ? params.requiredProperties : [];
    const paths = missing.length > 0 ? missing.map((name) => [...inner, name]) : [inner];
    return paths.map((path) => {
      const inside = path.slice(at.length);
      return {
        place,
        at: path,
        keyword,
        message,
        schema: schemaAt(schema, inside),
        value: valueAt(value, inside),
      };
    });
  });
}

function schemaAt(schema: Schema, at: readonly string[]): Schema {
  const plain = withoutNull(schema);
  const [name, ...rest] = at;
  if (name === undefined) return plain;
  const inner = plain.properties?.[name] ?? (/^\d+$/.test(name) ? plain.items : undefined);
  return inner === undefined ? plain : schemaAt(inner, rest);
}

/** One sentence for each place: that it is missing, or else the form that it has to have. */
function tellFaults(faults: readonly RequestFault[], act: Declared): string[] {
  const order = ({ keyword }: RequestFault) => (keyword === 'required' ? 0 : keyword === 'pattern' ? 1 : 2);
  const told = new Map<string, RequestFault>();
  for (const fault of faults.toSorted((a, b) => order(a) - order(b))) {
    const place = [fault.place, ...fault.at].join('.');
    if (!told.has(place)) told.set(place, fault);
  }
  return [...new Set([...told.values()].map((fault) => sayFault(fault, act)))];
}

function valueAt(value: unknown, at: readonly string[]): unknown {
  const [name, ...rest] = at;
  if (name === undefined || value === null || typeof value !== 'object') return value;
  return valueAt(new Map<string, unknown>(Object.entries(value)).get(name), rest);
}

function sayFault(
  { place, at, keyword, message, schema, value }: RequestFault,
  { members, operands }: Declared,
): string {
  const member = members
    .filter((one) => one.place === place && one.at.every((name, i) => at[i] === name))
    .toSorted((a, b) => b.at.length - a.at.length)[0];
  if (member === undefined) return `${at.join('.') || 'the request'} ${message}`;
  const called = operands.includes(member)
    ? member.name.toUpperCase()
    : `--${member.kind === 'file' ? 'file' : member.name}`;
  if (keyword === 'required')
    return member.kind === 'file'
      ? `${at.join('.')} is missing: it stands in --file FILE`
      : `${called} is needed`;
  const values = valuesOf(schema);
  if (values !== null) return `${called} is ${JSON.stringify(value)}; allowed: ${values.join(', ')}`;
  const { description } = schema;
  if (keyword !== 'pattern') return `${called} ${message}`;
  return `${called} is not of its form${description === undefined ? '' : `: ${description}`}`;
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${path} is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function without(
  record: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
