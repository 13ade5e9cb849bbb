import { type TArray, type TObject, type TRecord, type TSchema, Type } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import type { FieldFault } from './refusal.ts';

/** Most characters of an unknown key that a path repeats. */
const KEY_SHOWN_CHARS = 64;

/**
 * The first fault of a value that its schema refuses, in the order of the schema. Stops there, because a body
 * may have 100,000 faults and each takes time to find.
 */
export function firstFault(schema: TSchema, value: unknown, path = ''): FieldFault {
  if (Type.IsUnion(schema)) return faultOfUnion(schema.anyOf, value, path);
  if (Type.IsEnum(schema)) return { path, message: `must be one of ${schema.enum.join(', ')}` };
  if (Type.IsObject(schema) && isMembers(value)) return faultOfMembers(schema, value, path);
  if (Type.IsRecord(schema) && isMembers(value)) return faultOfRecord(schema, value, path);
  if (Type.IsArray(schema) && Array.isArray(value)) return faultOfItems(schema, value, path);
  return { path, message: messageOf(schema, value) };
}

/** Reports the fault against the member of the union that the value resembles. */
function faultOfUnion(forms: readonly TSchema[], value: unknown, path: string): FieldFault {
  const literals = forms.flatMap((form) => (Type.IsLiteral(form) ? [String(form.const)] : []));
  if (literals.length === forms.length) return { path, message: `must be one of ${literals.join(', ')}` };
  const form =
    forms.find((one) => looksLike(one, value)) ?? forms.find((one) => !Type.IsNull(one)) ?? Type.Null();
  return firstFault(form, value, path);
}

function looksLike(form: TSchema, value: unknown): boolean {
  if (Array.isArray(value)) return Type.IsArray(form);
  if (isMembers(value)) return Type.IsObject(form) || Type.IsRecord(form);
  return typeof value === 'string' && Type.IsString(form);
}

function faultOfMembers(schema: TObject, value: Members, path: string): FieldFault {
  const { properties } = schema;
  const names = Object.keys(properties);
  const isClosed = Reflect.get(schema, 'additionalProperties') === false;
  for (const key in value) {
    if (!isClosed || Object.hasOwn(properties, key)) continue;
    const allowed = names.length === 0 ? 'none' : names.join(', ');
    return { path: `${path}/${shown(key)}`, message: `is not a field here; allowed: ${allowed}` };
  }
  const missing = (schema.required ?? []).find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) return { path: `${path}/${missing}`, message: 'is required' };
  for (const [name, property] of Object.entries(properties)) {
    const member = value[name];
    if (Object.hasOwn(value, name) && !accepts(property, member)) {
      return firstFault(property, member, `${path}/${name}`);
    }
  }
  const message = countFault(schema, { what: 'Properties', count: Object.keys(value).length });
  return { path, message: message ?? 'is not valid' };
}

function faultOfRecord(schema: TRecord, value: Members, path: string): FieldFault {
  const [pattern = '', form = Type.Unknown()] = Object.entries(schema.patternProperties)[0] ?? [];
  const isAllowed = new RegExp(pattern, 'u');
  for (const key in value) {
    const at = `${path}/${shown(key)}`;
    if (!isAllowed.test(key)) return { path: at, message: `is not a valid field name; allowed: ${pattern}` };
    if (!accepts(form, value[key])) return firstFault(form, value[key], at);
  }
  const message = countFault(schema, { what: 'Properties', count: Object.keys(value).length });
  return { path, message: message ?? 'is not valid' };
}

function faultOfItems(schema: TArray, value: readonly unknown[], path: string): FieldFault {
  const message = countFault(schema, { what: 'Items', count: value.length });
  if (message !== null) return { path, message };
  const index = value.findIndex((item) => !accepts(schema.items, item));
  if (index >= 0) return firstFault(schema.items, value[index], `${path}/${index}`);
  return { path, message: 'must not have duplicate items' };
}

/** Null where the number of items is allowed. */
function countFault(
  schema: TSchema,
  { what, count }: { what: 'Items' | 'Properties'; count: number },
): string | null {
  const [min, max]: unknown[] = [Reflect.get(schema, `min${what}`), Reflect.get(schema, `max${what}`)];
  const words = what === 'Items' ? 'items' : 'fields';
  if (typeof max === 'number' && count > max) return `must not have more than ${max} ${words}`;
  return typeof min === 'number' && count < min ? `must not have fewer than ${min} ${words}` : null;
}

/** The fault of a value without parts, in the words of the schema library, with comparisons spelled out. */
function messageOf(schema: TSchema, value: unknown): string {
  // Checks only the kind of container, not its contents.
  const plain = Array.isArray(value) ? [] : isMembers(value) ? {} : value;
  const message = validatorOf(schema).Errors(plain)[0]?.message ?? 'is not valid';
  return message.replace(/^must be >= /, 'must be at least ').replace(/^must be <= /, 'must be at most ');
}

/** Whether a value has the form. The schema is compiled when it is first used: a start need not wait for hundreds of them. */
export function accepts(schema: TSchema, value: unknown): boolean {
  return validatorOf(schema).Check(value);
}

const validators = new WeakMap<TSchema, Validator>();

function validatorOf(schema: TSchema): Validator {
  const known = validators.get(schema);
  if (known) return known;
  const validator = Compile(schema);
  validators.set(schema, validator);
  return validator;
}

type Members = Readonly<Record<string, unknown>>;

function isMembers(value: unknown): value is Members {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** Escapes a key for a JSON Pointer (RFC 6901). */
function shown(key: string): string {
  return key.slice(0, KEY_SHOWN_CHARS).replaceAll('~', '~0').replaceAll('/', '~1');
}
