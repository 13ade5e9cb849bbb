import { Readable } from 'node:stream';
import {
  COMMAND_SORT_DEFAULT,
  COMMAND_SORTS,
  CommandFilter,
  CommandItem,
  CommandQueued,
  CommandSort,
} from '@tidegate/protocol/commands-api';
import { directionOf } from '@tidegate/protocol/lists-api';
import { strict } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { findAgent } from '../agents/store.ts';
import type { Db } from '../platform/db/engine.ts';
import type { OperatorAccess } from '../platform/http/access.ts';
import { pageLimit } from '../platform/http/lists.ts';
import { type Identify, isStillLive } from '../platform/http/live-caller.ts';
import { IdPath } from '../platform/http/paths.ts';
import { noSuch, Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import { createSeats } from '../platform/http/seats.ts';
import {
  pageOfRows,
  positionOf,
  SortedPageQuery,
  sortedPageOf,
  totalOf,
} from '../platform/http/sorted-lists.ts';
import type { Platform } from '../platform/platform.ts';
import { cancelCommand, retryCommand } from './change-command.ts';
import { commandItems, oneCommandItem } from './command-view.ts';
import { commandOrder, listPageOfCommands } from './list-store.ts';
import { type CommandRow, findCommand, findHostedCommand, type HostedCommand } from './store.ts';
import { streamOutput } from './stream-output.ts';

export interface CommandsDeps {
  platform: Platform;
  identify: Identify;
  lookEveryMs?: number;
}

/** Most open streams of live output: in total, and for one operator. */
const STREAMS_MAX = 200;
const STREAMS_PER_OPERATOR = 100;

const listing: OperatorAccess = { role: 'viewer', limit: 'admin_reads', reach: 'scope' };
const reading: OperatorAccess = { ...listing, reach: { of: 'command', by: 'id' } };
const acting: OperatorAccess = { ...reading, role: 'approver', limit: 'admin_operations' };
const tags = ['commands'];

/** Commands, for operators. */
export function mountCommands(routes: Routes, { platform, identify, lookEveryMs }: CommandsDeps): void {
  const { database } = platform;

  routes.operator({
    method: 'GET',
    url: '/api/v1/commands',
    access: listing,
    schema: {
      summary: 'Commands by creation time, newest first by default',
      tags,
      querystring: strict({ ...SortedPageQuery, sort: Type.Optional(CommandSort), ...CommandFilter }),
      response: { 200: sortedPageOf(CommandItem) },
    },
    handler: async ({ operator, query }) => {
      const { limit: _, cursor, sort = COMMAND_SORT_DEFAULT, ...filter } = query;
      const {
        agent_id: agentId,
        update_id: updateId,
        bulk_id: bulkId,
        status,
        action,
        due,
        since,
        until,
      } = filter;
      const limit = pageLimit(query);
      const { descending } = directionOf(sort, COMMAND_SORTS);
      const of = { sort, filter, key: commandOrder(descending).parts };
      const { rows, count } = await listPageOfCommands(database.read, {
        selection: {
          filter: { agentId, updateId, status, action },
          bulkId,
          scope: operator.groups,
          sinceMs: since === undefined ? undefined : Date.parse(since),
          untilMs: until === undefined ? undefined : Date.parse(until),
          due: due === undefined ? undefined : { isDue: due === 'true', atMs: platform.now() },
        },
        ...{ descending, limit: limit + 1, after: positionOf(cursor, of) },
      });
      const position = (row: HostedCommand) => ({ key: [row.created_at], id: row.id });
      const { page, next_cursor } = pageOfRows(rows, { limit, of, positionOf: position });
      return { items: await commandItems(database.read, page), next_cursor, ...totalOf(count) };
    },
  });

  routes.operator({
    method: 'GET',
    url: '/api/v1/commands/:id',
    access: reading,
    schema: { summary: 'One command', tags, params: IdPath, response: { 200: CommandItem } },
    handler: async ({ params }) => {
      const command = await findHostedCommand(database.read, params.id);
      if (!command) throw noSuch('command');
      return oneCommandItem(database.read, command);
    },
  });

  routes.operator({
    method: 'POST',
    url: '/api/v1/commands/:id/cancel',
    access: acting,
    schema: {
      summary:
        'Cancel a command that its agent has not acknowledged, or call off a reboot that has not begun',
      tags,
      params: IdPath,
      response: { 200: CommandItem },
      refuses: ['command_finished', 'conflict'],
    },
    handler: async ({ operator: { username }, params }) => {
      const command = await database.transact(async (tx) => {
        const found = await findCommand(tx, params.id);
        if (!found) throw noSuch('command');
        await demandHost(tx, found);
        const outcome = await cancelCommand(tx, platform, { command: found, by: username });
        if (outcome === 'finished') {
          throw new Refusal('command_finished', { detail: 'The command has ended already.' });
        }
        if (outcome === 'with_agent') {
          throw new Refusal('conflict', {
            detail: 'The agent has the command: it can no longer be cancelled.',
          });
        }
        return findHostedCommand(tx, found.id);
      });
      if (!command) throw noSuch('command');
      return oneCommandItem(database.read, command);
    },
  });

  routes.operator({
    method: 'POST',
    url: '/api/v1/commands/:id/retry',
    access: acting,
    schema: {
      summary: 'Retry a command that ended without success, as a new command',
      tags,
      params: IdPath,
      response: { 202: CommandQueued },
      refuses: ['conflict'],
    },
    handler: async ({ operator: { username }, params }) => {
      const commandId = await database.transact(async (tx) => {
        const command = await findCommand(tx, params.id);
        if (!command) throw noSuch('command');
        await demandHost(tx, command);
        const outcome = await retryCommand(tx, platform, { command, by: username });
        if (outcome.kind === 'refused') throw new Refusal('conflict', { detail: outcome.detail });
        return outcome.commandId;
      });
      return { command_id: commandId };
    },
  });

  const open = createSeats({ total: STREAMS_MAX, each: STREAMS_PER_OPERATOR, what: 'streams of output' });
  routes.operator({
    method: 'GET',
    url: '/api/v1/commands/:id/output',
    access: reading,
    schema: {
      summary: 'Live output of a command (server-sent events; Last-Event-ID resumes the stream)',
      tags,
      params: IdPath,
      produces: ['text/event-stream'],
      response: { 200: Type.Unsafe<Readable>(Type.String()) },
    },
    handler: async ({ operator, params, request, reply }) => {
      const command = await findCommand(database.read, params.id);
      if (!command) throw noSuch('command');
      const leave = open.take(operator.operatorId);
      const lastId = request.headers['last-event-id'];
      const afterSeq = typeof lastId === 'string' && /^\d{1,15}$/.test(lastId) ? Number(lastId) : -1;
      const closed = new AbortController();
      const signal = AbortSignal.any([closed.signal, routes.stopping]);
      const isLive = () => isStillLive(identify, request, operator);
      const events = streamOutput(database, {
        ...{ commandId: command.id, afterSeq, signal, isLive, lookEveryMs },
      });
      reply.raw.once('close', () => {
        leave();
        closed.abort();
      });
      return (
        reply
          .header('content-type', 'text/event-stream; charset=utf-8')
          .header('x-accel-buffering', 'no')
          // A stop closes idle connections only once: this one must not become idle afterwards.
          .header('connection', 'close')
          .send(Readable.from(events))
      );
    },
  });
}

/** The commands of a deleted host stay on record, but cannot be changed. */
async function demandHost(db: Db, { agent_id }: CommandRow): Promise<void> {
  if ((await findAgent(db, agent_id)) !== null) return;
  throw new Refusal('conflict', { detail: 'The host of this command is deleted.' });
}
