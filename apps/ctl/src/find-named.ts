import type { Client, ListName } from '@tidegate/client/client';
import type { Fault, OperationName } from '@tidegate/client/outcome';
import type { NamedKind } from './words.ts';

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A name that stands for nothing, or for several things. */
export class NameFault extends Error {}

/** The server did not answer the question what a name stands for. */
export class LookupFault extends Error {
  readonly fault: Fault<OperationName>;
  constructor(fault: Fault<OperationName>) {
    super(fault.kind);
    this.fault = fault;
  }
}

/** The id of a host, given as id or as its whole host name. */
export async function findHost(client: Client, given: string): Promise<string> {
  if (ID.test(given)) return given;
  const found = await client.list('GET /api/v1/agents', { query: { q: given } });
  if (!found.ok) throw new LookupFault(found.fault);
  const ids = found.items.filter(({ hostname }) => hostname === given).map(({ id }) => id);
  return onlyOne(ids, { given, what: 'host', shown: 'tidegatectl hosts list' });
}

const LISTS = {
  policy: ['GET /api/v1/policies', 'name', 'tidegatectl policies list'],
  operator: ['GET /api/v1/admin/operators', 'username', 'tidegatectl operators list'],
  blackout: ['GET /api/v1/blackouts', 'name', 'tidegatectl windows blackouts'],
} as const satisfies Readonly<Record<NamedKind, readonly [ListName, string, string]>>;

/** The id of what has a name: the newest that is in force comes first in each list. */
export async function findNamed(client: Client, kind: NamedKind, given: string): Promise<string> {
  if (ID.test(given)) return given;
  const [operation, member, shown] = LISTS[kind];
  const found = await client.list(operation, {});
  if (!found.ok) throw new LookupFault(found.fault);
  const named = found.items.filter(
    (item) => new Map<string, unknown>(Object.entries(item)).get(member) === given,
  );
  const live = named.filter((item) => !('state' in item) || !/^(ended|over|revoked)$/.test(item.state));
  const ids = (live.length > 0 ? live : named).map(({ id }) => id);
  return onlyOne(ids, { given, what: kind, shown });
}

function onlyOne(
  ids: readonly string[],
  { given, what, shown }: { given: string; what: string; shown: string },
): string {
  const [id] = ids;
  const called = JSON.stringify(given);
  if (id === undefined) throw new NameFault(`there is no ${what} ${called}: ${shown} shows them`);
  if (ids.length > 1)
    throw new NameFault(`${ids.length} are named ${called}; give the id: ${ids.slice(0, 5).join(', ')}`);
  return id;
}
