import {
  HostReboot,
  RebootAsk,
  RebootKind,
  RebootState,
  RebootsAsked,
  SlotGroups,
  SlotLimits,
  SlotRelease,
} from '@tidegate/protocol/reboots-api';
import { strict, Uuid } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import type { OperatorAccess } from '../platform/http/access.ts';
import { LIST_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { askedPage, cutPage, PageQuery, pageOf } from '../platform/http/lists.ts';
import { IdPath } from '../platform/http/paths.ts';
import { noSuch, Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { askFault, askReboots } from './ask-reboots.ts';
import { cancelReboot } from './cancel-reboot.ts';
import { releaseSlot, setLimits, slotGroups } from './manage-slots.ts';
import { countReboots, findReboot, listReboots } from './store.ts';
import { viewReboots } from './view-reboots.ts';

const URL = '/api/v1/reboots';
const SLOTS = '/api/v1/reboot-slots';
const tags = ['reboots'];
const read: OperatorAccess = { role: 'viewer', limit: 'admin_reads', reach: 'fleet' };
const act: OperatorAccess = { role: 'admin', limit: 'admin_operations', reach: 'fleet', scope: 'hosts' };
/** What lets more hosts be down at once takes a person with a fresh factor. */
const loosen: OperatorAccess = { ...act, scope: null, stepUp: true };

/** Reboots and restarts of services of many hosts, one group's slots at a time. */
export function mountReboots(routes: Routes, platform: Platform): void {
  const { database } = platform;

  async function viewOf(id: string): Promise<HostReboot> {
    const row = await findReboot(database.read, id);
    const [view] = await viewReboots(database.read, row ? [row] : [], platform.now());
    if (!view) throw noSuch('reboot');
    return view;
  }

  routes.operator({
    ...{ method: 'GET', url: URL, access: read },
    schema: {
      summary: 'Reboots and restarts of services by host, newest first',
      tags,
      querystring: strict({
        ...PageQuery,
        state: Type.Optional(RebootState),
        kind: Type.Optional(RebootKind),
        agent_id: Type.Optional(Uuid),
      }),
      response: { 200: pageOf(HostReboot) },
    },
    handler: async ({ query }) => {
      const { limit, after } = askedPage(query);
      const filter = { state: query.state, kind: query.kind, agentId: query.agent_id };
      const rows = await listReboots(database.read, { filter, limit: limit + 1, after });
      const { page, next_cursor } = cutPage(rows, { limit, keyOf: ({ id }) => id });
      const items = await viewReboots(database.read, page, platform.now());
      return { items, next_cursor, total: await countReboots(database.read, filter) };
    },
  });

  routes.operator({
    ...{ method: 'GET', url: `${URL}/:id`, access: read },
    schema: {
      summary: 'One host in the queue',
      tags,
      params: IdPath,
      response: { 200: HostReboot },
      refuses: ['not_found'],
    },
    handler: ({ params }) => viewOf(params.id),
  });

  routes.operator({
    ...{ method: 'POST', url: URL, access: act, bodyMaxBytes: LIST_BODY_MAX_BYTES },
    schema: {
      summary: 'Queue hosts for a reboot, or for a restart of the services that run replaced files',
      description: 'Hosts that do not need it are left out. With `dry_run` nothing is queued.',
      tags,
      body: RebootAsk,
      response: { 200: RebootsAsked },
      refuses: ['conflict'],
    },
    handler: async ({ operator, body: ask }) => {
      const fault = await askFault(database.read, ask, platform.now());
      if (fault) throw new Refusal('invalid_request', { detail: 'The body is not valid.', errors: [fault] });
      return database.transact((tx) => askReboots(tx, platform, { ask, by: operator.username }));
    },
  });

  routes.operator({
    ...{ method: 'DELETE', url: `${URL}/:id`, access: act },
    schema: {
      summary: 'Take a host out of the queue, or have it call off a reboot that has not begun',
      description: 'Where the host has the command, the state stays `running` until the host has answered.',
      tags,
      params: IdPath,
      response: { 200: HostReboot },
      refuses: ['conflict', 'not_found'],
    },
    handler: async ({ operator, params: { id } }) => {
      const asked = { id, by: operator.username };
      switch (await database.transact((tx) => cancelReboot(tx, platform, asked))) {
        case 'unknown':
        case 'ended':
          throw noSuch('reboot');
        case 'too_late':
          throw new Refusal('conflict', { detail: 'The host has begun.' });
        case 'asked':
        case 'cancelled':
          return viewOf(id);
      }
    },
  });

  routes.operator({
    ...{ method: 'GET', url: SLOTS, access: read },
    schema: {
      summary: 'How many hosts of each group may be down at once, and which are',
      tags,
      response: { 200: SlotGroups },
    },
    handler: async () => ({ items: await slotGroups(database.read, platform.now()) }),
  });

  routes.operator({
    ...{ method: 'PUT', url: SLOTS, access: loosen },
    schema: {
      summary: 'Set how many hosts of a group may be down at once',
      tags,
      body: SlotLimits,
      response: { 204: Type.Null() },
    },
    handler: async ({ operator, body: asked }) => {
      await database.transact((tx) => setLimits(tx, platform, { asked, by: operator.username }));
    },
  });

  routes.operator({
    ...{ method: 'POST', url: `${SLOTS}/:id/release`, access: loosen },
    schema: {
      summary: 'Free the slot of a host that failed: the next one of its group may go down',
      tags,
      params: IdPath,
      body: SlotRelease,
      response: { 204: Type.Null() },
      refuses: ['not_found'],
    },
    handler: async ({ operator, params: { id }, body: { reason } }) => {
      const asked = { id, reason, by: operator.username };
      if (!(await database.transact((tx) => releaseSlot(tx, platform, asked)))) throw noSuch('slot');
    },
  });
}
