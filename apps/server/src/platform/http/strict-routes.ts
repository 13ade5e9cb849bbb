import { nullable, strict } from '@tidegate/protocol/scalars';
import type { RouteOptions } from 'fastify';

const NO_QUERY = strict({});
/** Absent (which the framework checks as null) or empty: an act that needs no more than its path. */
export const NO_BODY = nullable(strict({}));
/** Methods whose bodies the framework reads. */
const WITH_BODY = ['POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * Requests are strict (docs/protocol/requests.md) also where a route names nothing that it takes: then it
 * takes nothing.
 */
export function makeStrict(route: RouteOptions): void {
  const readsBody = [route.method].flat().some((method) => WITH_BODY.includes(method));
  route.schema = { querystring: NO_QUERY, ...(readsBody ? { body: NO_BODY } : {}), ...route.schema };
}
