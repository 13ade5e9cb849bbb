import type { RequestShape, Schema } from '@tidegate/client/request-shape';

/** What stands for a member on the command line. */
export type Kind = 'text' | 'flag' | 'whole' | 'many' | 'host' | 'hosts' | 'hosts_of' | 'secret' | 'file';

/** One value that an operation takes, and where it belongs in the request. */
export interface Member {
  readonly place: 'path' | 'query' | 'body';
  /** Names from the outside in, such as `installed`, `version`. */
  readonly at: readonly string[];
  /** The name of its option. */
  readonly name: string;
  readonly kind: Kind;
  readonly schema: Schema;
  readonly isNeeded: boolean;
  /** Null is sent where it is needed and not given. */
  readonly isNullable: boolean;
}

export interface MemberWords {
  /** Options of members whose name in the API is poor. */
  readonly names?: Readonly<Record<string, string>>;
  /** Objects of the body whose members are options of their own. */
  readonly inside?: readonly string[];
  /** Members of the body that no person gives. */
  readonly without?: readonly string[];
  /** Members that a file may have, and that the operation does not take. */
  readonly ignores?: readonly string[];
  /** The member that a file holds; the whole body unless set. */
  readonly fileIs?: string;
  /** Members that are always sent; of several forms of a body, they choose the one that has them. */
  readonly fixed?: Readonly<Record<string, unknown>>;
}

/** Of the pages of a list, which the engine asks for itself. */
const PAGING = new Set(['limit', 'cursor']);
const HOST_ID = 'agent_id';
const NAMES: Readonly<Record<string, string>> = {
  q: 'search',
  agent_id: 'host',
  agent_ids: 'host',
  ends_at: 'until',
  deadline: 'until',
};
const SECRETS = new Set(['password', 'current_password', 'new_password', 'secret', 'client_secret']);

/** Everything that the operation takes, in the order of path, query and body. */
export function membersOf(shape: RequestShape, words: MemberWords): Member[] {
  const { names = {} } = words;
  const simple = (place: 'path' | 'query', isNeeded: (name: string) => boolean) =>
    Object.entries(shape[place])
      .filter(([name]) => !PAGING.has(name))
      .map(([name, schema]) => memberOf(place, [name], { schema, isNeeded: isNeeded(name), names }));
  const body = shape.body === null ? [] : bodyMembers(shape.body, { at: [], isNeeded: true, words });
  return [...simple('path', () => true), ...simple('query', (name) => shape.needs.includes(name)), ...body];
}

interface Within {
  readonly at: readonly string[];
  readonly isNeeded: boolean;
  readonly words: MemberWords;
}

function bodyMembers(schema: Schema, { at, isNeeded, words }: Within): Member[] {
  const { names = {}, inside = [], fixed = {}, without = [] } = words;
  const { properties = {}, required = [] } = formOf(schema, at, words);
  return Object.entries(properties).flatMap(([name, each]) => {
    const path = [...at, name];
    const key = path.join('.');
    if (key in fixed || without.includes(key)) return [];
    const isOneNeeded = isNeeded && required.includes(name);
    if (inside.includes(key)) return bodyMembers(each, { at: path, isNeeded: isOneNeeded, words });
    return [memberOf('body', path, { schema: each, isNeeded: isOneNeeded, names })];
  });
}

/** Of the forms that a body may have, the one that the words mean; null: there is no body. */
export function bodyForm({ body }: RequestShape, words: MemberWords): Schema | null {
  return body === null ? null : formOf(body, [], words);
}

/** The object among several forms: the one that has what the words name, or the first. */
function formOf(schema: Schema, at: readonly string[], { fixed = {}, inside = [] }: MemberWords): Schema {
  const forms = (schema.anyOf ?? [schema]).filter(({ type }) => type === 'object');
  const named = [...Object.keys(fixed), ...inside].map((key) => key.split('.'));
  const own = named.filter((key) => key.slice(0, -1).join('.') === at.join('.'));
  const fits = ({ properties = {} }: Schema) =>
    own.every((key) => {
      const found = properties[key.at(-1) ?? ''];
      const value = fixed[key.join('.')];
      return (
        found !== undefined && (found.enum === undefined || value === undefined || found.enum.includes(value))
      );
    });
  return forms.find(fits) ?? forms[0] ?? {};
}

function memberOf(
  place: Member['place'],
  at: readonly string[],
  { schema, isNeeded, names }: { schema: Schema; isNeeded: boolean; names: Readonly<Record<string, string>> },
): Member {
  const own = at.at(-1) ?? '';
  const kind = kindOf(own, schema, place);
  const name = names[own] ?? NAMES[own] ?? nameOf(own, kind);
  const isNullable = schema.anyOf?.some(({ type }) => type === 'null') === true;
  return { place, at, name, kind, schema, isNeeded, isNullable };
}

function nameOf(own: string, kind: Kind): string {
  const name = own.replaceAll('_', '-');
  return kind === 'many' ? name.replace(/ies$/, 'y').replace(/s$/, '') : name;
}

function kindOf(own: string, given: Schema, place: Member['place']): Kind {
  const schema = withoutNull(given);
  if (own === HOST_ID) return 'host';
  if (own === 'agent_ids') return 'hosts';
  if (SECRETS.has(own)) return 'secret';
  if (own === 'scope') return 'hosts_of';
  if (valuesOf(schema) !== null || schema.type === 'string') return 'text';
  if (schema.type === 'boolean') return place === 'query' ? 'text' : 'flag';
  if (schema.type === 'integer') return 'whole';
  const { items } = schema;
  if (schema.type === 'array' && items && (items.type === 'string' || valuesOf(items) !== null))
    return 'many';
  return schema.anyOf?.every(({ type }) => type === 'string') ? 'text' : 'file';
}

export function withoutNull(schema: Schema): Schema {
  const forms = schema.anyOf?.filter(({ type }) => type !== 'null') ?? [];
  const [only] = forms;
  if (only === undefined || forms.length === schema.anyOf?.length) return schema;
  return forms.length === 1 ? { ...only, ...described(schema) } : { ...schema, anyOf: forms };
}

function described({ description }: Schema): Schema {
  return description === undefined ? {} : { description };
}

/** The values of a fixed set of texts; null where others are allowed. */
export function valuesOf(schema: Schema): string[] | null {
  if (schema.enum) return schema.enum.map(String);
  const sets = (schema.anyOf ?? []).filter(({ type }) => type !== 'boolean').map(valuesOf);
  return sets.length > 0 && sets.every((set) => set !== null) ? sets.flat() : null;
}
