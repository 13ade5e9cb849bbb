import { strict, Uuid } from '@tidegate/protocol/scalars';
import {
  isReported,
  partsOfTag,
  REPORTED_TAGS_MAX_BYTES,
  ReportedTags,
  TagHostsAnswer,
  TagHostsRequest,
  TagItem,
} from '@tidegate/protocol/tags-api';
import { Type } from 'typebox';
import { LIST_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { askedPage, cutPage, PageQuery } from '../platform/http/lists.ts';
import { notValid } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { reportTags } from './report-tags.ts';
import { tagHosts } from './tag-hosts.ts';
import { listTags } from './tag-store.ts';

const tags = ['hosts'];

/** Tags of hosts: operators set them, and hosts report others of themselves. */
export function mountTags(routes: Routes, { platform }: { platform: Platform }): void {
  routes.operator({
    method: 'GET',
    url: '/api/v1/tags',
    access: { role: 'viewer', limit: 'admin_reads', reach: 'scope' },
    schema: {
      tags,
      summary: 'Tags that hosts have: what operators set, by key and value, then what hosts report',
      querystring: strict(PageQuery),
      response: {
        200: strict({ items: Type.Array(TagItem), next_cursor: Type.Union([Type.String(), Type.Null()]) }),
      },
    },
    handler: async ({ operator, query }) => {
      const { limit, after } = askedPage(query);
      const last = after === null ? null : partsOfTag(after);
      const isPast = after !== null && isReported(after);
      const args = { scope: operator.groups, limit: limit + 1 };
      const db = platform.database.read;
      const set = isPast ? [] : await listTags(db, { ...args, isReported: false, after: last });
      const more =
        set.length > limit
          ? []
          : await listTags(db, { ...args, isReported: true, after: isPast ? last : null });
      const rows = [...set, ...more].slice(0, limit + 1);
      const items = rows.map(({ key, value, hosts }) => {
        const tag = `${key}=${value}`;
        return { tag, hosts, reported: isReported(tag) };
      });
      const { page, next_cursor } = cutPage(items, { limit, keyOf: ({ tag }) => tag });
      return { items: page, next_cursor };
    },
  });
  routes.operator({
    method: 'POST',
    url: '/api/v1/agents/tags',
    access: { role: 'admin', limit: 'admin_operations', reach: 'scope', scope: 'hosts' },
    bodyMaxBytes: LIST_BODY_MAX_BYTES,
    schema: {
      tags,
      summary: 'Set and remove tags of hosts',
      body: TagHostsRequest,
      response: { 200: TagHostsAnswer },
      refuses: ['conflict'],
    },
    handler: async ({ operator, body }) => tagHosts(platform, { request: body, by: operator }),
  });
  routes.agent({
    method: 'PUT',
    url: '/api/v1/agents/:agent_id/tags',
    access: { limit: 'agent_reports' },
    bodyMaxBytes: REPORTED_TAGS_MAX_BYTES,
    schema: {
      summary:
        'What the host says of itself, from the configuration of its agent; replaces what it said before',
      tags: ['agents'],
      params: strict({ agent_id: Uuid }),
      body: ReportedTags,
      response: { 200: strict({ accepted: Type.Literal(true) }) },
    },
    handler: async ({ agent: { agentId }, body }) => {
      const outcome = await reportTags(platform, { agentId, tags: body.tags });
      if (outcome.ok) return { accepted: true as const };
      throw notValid([{ path: '/tags', message: outcome.message }]);
    },
  });
}
