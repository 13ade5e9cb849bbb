import { ResyncRequest, ResyncState } from '@tidegate/protocol/resync-api';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { rfc3339 } from '../platform/clock.ts';
import type { OperatorAccess } from '../platform/http/access.ts';
import { REASON_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { readFleet } from '../signing-keys/store.ts';
import { closeOpenResync, openNewResync } from './resync.ts';
import { countActiveFamilies, countResynced, newestRestoreEvent, openResync } from './store.ts';

const URL = '/api/v1/admin/resync';
const tags = ['restore'];
const changing: OperatorAccess = { role: 'admin', limit: 'admin_operations', reach: 'fleet' };

/** The state after a restore, and the resync that an operator opens and closes. */
export function mountResync(routes: Routes, { platform }: { platform: Platform }): void {
  const { database } = platform;

  routes.operator({
    method: 'GET',
    url: URL,
    access: { role: 'viewer', limit: 'admin_reads', reach: 'fleet' },
    schema: {
      summary: 'The newest restore, and the open resync',
      tags,
      response: { 200: ResyncState },
    },
    handler: () => stateOf(platform),
  });

  routes.operator({
    method: 'POST',
    url: URL,
    access: changing,
    bodyMaxBytes: REASON_BODY_MAX_BYTES,
    schema: {
      summary: 'Open a resync: each host with tokens newer than the restored database may resync once',
      tags,
      body: ResyncRequest,
      response: { 201: ResyncState },
      refuses: ['conflict'],
    },
    handler: async ({ operator, body }) => {
      const opening = { ...body, actor: operator.username };
      if (!(await database.transact((tx) => openNewResync(tx, platform, opening)))) {
        throw new Refusal('conflict', { detail: 'A resync is open already: close it first.' });
      }
      return stateOf(platform);
    },
  });

  routes.operator({
    method: 'DELETE',
    url: URL,
    access: changing,
    schema: {
      summary: 'Close the resync early',
      tags,
      response: { 204: Type.Null() },
      refuses: ['not_found'],
    },
    handler: async ({ operator }) => {
      const actor = operator.username;
      if (!(await database.transact((tx) => closeOpenResync(tx, platform, actor)))) {
        throw new Refusal('not_found', { detail: 'No resync is open.' });
      }
    },
  });
}

const Details = Type.Record(Type.String(), Type.Unknown());

async function stateOf(platform: Platform): Promise<ResyncState> {
  const db = platform.database.read;
  const [event, open, fleet] = [
    await newestRestoreEvent(db),
    await openResync(db, platform.now()),
    await readFleet(db),
  ];
  const details = event && parseStrictJson(event.content);
  return {
    epoch: fleet?.epoch ?? 0,
    restored: event && {
      event_id: event.id,
      at: rfc3339(event.created_at),
      details: details?.ok ? Value.Parse(Details, details.value) : {},
    },
    active_families: await countActiveFamilies(db),
    resync: open && {
      id: open.id,
      opened_at: rfc3339(open.opened_at),
      closes_at: rfc3339(open.closes_at),
      opened_by: open.opened_by,
      reason: open.reason,
      resynced: await countResynced(db, open.id),
    },
  };
}
