import { hashOfEvent } from '../events/append-event.ts';
import type { SeparateEvent, SeparateEvents } from '../events/separate-events.ts';
import { type ClientErrorRow, countClientErrors, findClientError, listClientErrors } from './store.ts';

const TYPE = 'client_error';
const COMPONENT = 'console';

/** Client errors as E9 answers them. */
export const separateClientErrors: SeparateEvents = {
  type: TYPE,
  async list(db, { filter, q, ...page }) {
    if (!isMeant(filter, q)) return { rows: [], count: 0 };
    const rows = await listClientErrors(db, { filter, ...page });
    return { rows: rows.map(eventOf), count: await countClientErrors(db, filter) };
  },
  async find(db, id) {
    const row = await findClientError(db, id);
    return row && eventOf(row);
  },
};

/** All client errors share the other filtered fields. */
function isMeant(
  { kind, component, agentId }: Parameters<SeparateEvents['list']>[1]['filter'],
  q?: string,
): boolean {
  const ofKind = kind === undefined || kind === 'system';
  const ofComponent = component === undefined || component === COMPONENT;
  const says = q === undefined || TYPE.includes(q.toLowerCase());
  return ofKind && ofComponent && agentId === undefined && says;
}

function eventOf({ id, severity, actor, content, created_at }: ClientErrorRow): SeparateEvent {
  const row = {
    ...{ id, kind: 'system' as const, type: TYPE, severity, component: COMPONENT, agent_id: null, actor },
    ...{ content, created_at, previous_hash: null },
  };
  return { ...row, hostname: null, hash: hashOfEvent(row) };
}
