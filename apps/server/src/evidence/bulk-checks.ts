import { nullable, Uuid } from '@tidegate/protocol/scalars';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { type Static, type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { faultAt, type Place } from './verify-fault.ts';

/** Approvals that name a bulk approval, and those of them that the events of the bundle confirm. */
export interface BulkCounts {
  readonly approvals: number;
  readonly confirmed: number;
}

export interface BulkChecks {
  takeApproval(line: { token_id: string; update_ids: readonly string[] }, at: Place): void;
  takeDecision(record: string, at: Place): void;
  /** In the order of the log: a bulk approval stands before its approvals. */
  takeEvent(line: object, at: Place): void;
  end(): BulkCounts;
}

/** What an approval says of itself, until its event comes. */
interface Said {
  readonly bulkId: string | null;
  readonly updateIds: readonly string[];
  readonly at: Place;
  decision: { readonly bulkId: string | null; readonly at: Place } | null;
}

interface Act {
  readonly actor: string | null;
  readonly updateIds: ReadonlySet<string>;
  /** Whether `updateIds` are all that were asked for. */
  readonly isWhole: boolean;
}

/** Bundles of older servers do not have it. */
const approvals = Compile(Type.Object({ bulk_id: nullable(Uuid) }));
const Record = Type.Object({ token_id: nullable(Uuid), bulk_id: Type.Optional(Uuid) });
const events = Compile(
  Type.Object({
    event: Type.Object({
      ...{ id: Uuid, type: Type.String(), actor: nullable(Type.String()), content: Type.String() },
    }),
  }),
);
const Approved = Type.Object({ token_id: Uuid, approved_by: Type.String(), bulk_id: Type.Optional(Uuid) });
const Asked = Type.Object({ updates: Type.Array(Uuid), update_count: Type.Integer({ minimum: 0 }) });
const readRecord = readerOf(Record);
const readApproved = readerOf(Approved);
const readAsked = readerOf(Asked);

/**
 * Compares what approvals, decisions and events say of bulk approvals. The events are chained, so where others differ from
 * them, the others were changed.
 */
export function createBulkChecks(): BulkChecks {
  const said = new Map<string, Said>();
  const acts = new Map<string, Act>();
  let named = 0;
  let confirmed = 0;

  function takeApproved(content: string, at: Place): void {
    const approved = readApproved(content);
    const approval = approved && said.get(approved.token_id);
    if (!approval) return;
    said.delete(approved.token_id);
    const bulkId = approved.bulk_id ?? null;
    if (approval.bulkId !== bulkId)
      throw faultAt(approval.at, 'the event of the approval names another bulk approval, or none', 'bulk_id');
    requireSame(approval);
    const act = bulkId === null ? undefined : acts.get(bulkId);
    if (!act) return;
    if (act.actor !== approved.approved_by)
      throw faultAt(at, 'somebody else asked for the bulk approval', 'event.content');
    if (approval.updateIds.every((id) => act.updateIds.has(id))) confirmed++;
    else if (act.isWhole)
      throw faultAt(at, 'the bulk approval did not ask for these updates', 'event.content');
  }

  return {
    takeApproval(line, at) {
      if (!approvals.Check(line)) return;
      const { bulk_id: bulkId, token_id: tokenId, update_ids: updateIds } = line;
      if (bulkId !== null) named++;
      said.set(tokenId, { bulkId, updateIds, at, decision: null });
    },
    takeDecision(text, at) {
      const record = readRecord(text);
      const approval = record?.token_id ? said.get(record.token_id) : undefined;
      if (record && approval) approval.decision = { bulkId: record.bulk_id ?? null, at };
    },
    takeEvent(line, at) {
      if (!events.Check(line)) return;
      const { id, type, actor, content } = line.event;
      if (type === 'update_approved') takeApproved(content, at);
      else if (type === 'bulk_approval_asked') {
        const asked = readAsked(content);
        if (!asked) throw faultAt(at, 'is no bulk approval', 'event.content');
        const { updates, update_count: count } = asked;
        acts.set(id, { actor, updateIds: new Set(updates), isWhole: updates.length === count });
      }
    },
    end() {
      for (const approval of said.values()) requireSame(approval);
      return { approvals: named, confirmed };
    },
  };
}

function requireSame({ bulkId, decision }: Said): void {
  if (decision !== null && decision.bulkId !== bulkId)
    throw faultAt(decision.at, 'names another bulk approval than its approval, or none', 'record');
}

/** Reads JSON of one shape; null for any other text. */
function readerOf<T extends TSchema>(schema: T): (text: string) => Static<T> | null {
  const compiled = Compile(schema);
  return (text) => {
    const parsed = parseStrictJson(Buffer.from(text));
    return parsed.ok && compiled.Check(parsed.value) ? parsed.value : null;
  };
}
