import { nullable, strict } from '@tidegate/protocol/scalars';

const NO_QUERY = strict({});
/** No body (the framework passes null) or an empty object: the path says everything. */
export const NO_BODY = nullable(strict({}));
/** Methods whose bodies the framework reads. */
const WITH_BODY = ['POST', 'PUT', 'PATCH', 'DELETE'];

/** Requests are strict (docs/protocol/requests.md): a route that declares no query or body refuses one. */
export function strictSchema<S extends object>(method: string | readonly string[], schema: S | undefined) {
  return { querystring: NO_QUERY, ...(readsBody(method) && { body: NO_BODY }), ...schema };
}

export function readsBody(method: string | readonly string[]): boolean {
  return [method].flat().some((name) => WITH_BODY.includes(name));
}
