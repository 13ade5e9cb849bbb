import { NotificationRule, RulePreview, RuleRequest } from '@tidegate/protocol/notifications-api';
import { strict } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import type { OperatorAccess } from '../platform/http/access.ts';
import { LIST_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { IdPath } from '../platform/http/paths.ts';
import { noSuch, notValid } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { findChannel, listChannels } from './channel-store.ts';
import { addRule, changeRule, removeRule, ruleFaults } from './manage-rules.ts';
import { previewRule } from './preview-rule.ts';
import { findRule, listRules, type RuleRow, ruleOf } from './rule-store.ts';
import { ruleView } from './views.ts';

const URL = '/api/v1/notifications/rules';
const tags = ['notifications'];
const read: OperatorAccess = { role: 'admin', limit: 'admin_reads', reach: 'fleet', scope: 'admin' };
/** A rule that is changed or gone may keep back what somebody relies on. */
const change: OperatorAccess = { role: 'admin', limit: 'admin_operations', reach: 'fleet', stepUp: true };

/** Which events are told, when, and to which channel. */
export function mountRules(routes: Routes, platform: Platform): void {
  const db = platform.database.read;

  async function viewOf(row: RuleRow): Promise<NotificationRule> {
    const channelName = (await findChannel(db, row.channel_id))?.name ?? '';
    return ruleView(ruleOf(row), { channelName, nowMs: platform.now() });
  }
  function check(body: RuleRequest): void {
    const faults = ruleFaults(body);
    if (faults.length > 0) throw notValid(faults);
  }

  routes.operator({
    ...{ method: 'GET', url: URL, access: read },
    schema: {
      summary: 'Rules of notifications, by name',
      tags,
      response: { 200: strict({ items: Type.Array(NotificationRule) }) },
    },
    handler: async () => {
      const names = new Map((await listChannels(db)).map(({ id, name }) => [id, name]));
      const nowMs = platform.now();
      const rules = (await listRules(db)).map(ruleOf);
      return {
        items: rules.map((rule) => ruleView(rule, { channelName: names.get(rule.channel_id) ?? '', nowMs })),
      };
    },
  });

  routes.operator({
    ...{ method: 'GET', url: `${URL}/:id`, access: read },
    schema: {
      summary: 'One rule of notifications',
      tags,
      params: IdPath,
      response: { 200: NotificationRule },
      refuses: ['not_found'],
    },
    handler: async ({ params }) => {
      const row = await findRule(db, params.id);
      if (!row) throw noSuch('rule');
      return viewOf(row);
    },
  });

  routes.operator({
    ...{ method: 'POST', url: URL, access: change, bodyMaxBytes: LIST_BODY_MAX_BYTES },
    schema: {
      summary: 'Add a rule of notifications. It speaks of what happens from now on',
      tags,
      body: RuleRequest,
      response: { 201: NotificationRule },
      refuses: ['conflict'],
    },
    handler: async ({ operator, body }) => {
      check(body);
      return viewOf(await addRule(platform, { request: body, actor: operator.username }));
    },
  });

  routes.operator({
    ...{ method: 'POST', url: `${URL}/preview`, access: { ...read, limit: 'admin_operations' } },
    bodyMaxBytes: LIST_BODY_MAX_BYTES,
    schema: {
      summary:
        'What a rule would have sent in the last 7 days, without its quiet hours. Nothing is sent or stored',
      tags,
      body: RuleRequest,
      response: { 200: RulePreview },
    },
    handler: async ({ body }) => {
      check(body);
      return previewRule(platform, body);
    },
  });

  routes.operator({
    ...{ method: 'PUT', url: `${URL}/:id`, access: change, bodyMaxBytes: LIST_BODY_MAX_BYTES },
    schema: {
      summary: 'Change a rule of notifications',
      tags,
      params: IdPath,
      body: RuleRequest,
      response: { 200: NotificationRule },
      refuses: ['not_found'],
    },
    handler: async ({ operator, params, body }) => {
      check(body);
      return viewOf(await changeRule(platform, { id: params.id, request: body, actor: operator.username }));
    },
  });

  routes.operator({
    ...{ method: 'DELETE', url: `${URL}/:id`, access: change },
    schema: {
      summary: 'Remove a rule of notifications. What it has queued is still sent',
      tags,
      params: IdPath,
      response: { 204: Type.Null() },
      refuses: ['not_found'],
    },
    handler: async ({ operator, params }) =>
      removeRule(platform, { id: params.id, actor: operator.username }),
  });
}
