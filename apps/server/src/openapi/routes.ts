import { Type } from 'typebox';
import type { PublicAccess } from '../platform/http/access.ts';
import { sendPage } from '../platform/http/html-page.ts';
import type { App } from '../platform/http/server.ts';
import { docsPage } from './docs-page.ts';

const access: PublicAccess = { limit: 'public_access' };
const tags = ['service'];

/** The OpenAPI document, as JSON and as a page. */
export function mountOpenApi(app: App): void {
  let text: string | null = null;
  app.routes.public({
    method: 'GET',
    url: '/api/openapi.json',
    access,
    schema: { tags, summary: 'This document, OpenAPI 3.1', response: { 200: Type.Unknown() } },
    handler: async ({ reply }) => {
      text ??= JSON.stringify(app.swagger());
      reply.header('content-type', 'application/json; charset=utf-8');
      return text;
    },
  });
  app.routes.page({
    method: 'GET',
    url: '/api/docs',
    access,
    handler: async ({ reply }) => sendPage(reply, { title: 'Tidegate API', body: docsPage(app.swagger()) }),
  });
}
