import { Type } from 'typebox';
import { sendPage } from '../platform/http/html-page.ts';
import type { App } from '../platform/http/server.ts';
import { docsPage } from './docs-page.ts';

const access = { kind: 'public', limit: 'public_access' } as const;
const tags = ['service'];

/** The document of all routes, and the same as a page. */
export function mountOpenApi(app: App): void {
  let text: string | null = null;
  app.route({
    method: 'GET',
    url: '/api/openapi.json',
    config: { access },
    schema: { tags, summary: 'This document, OpenAPI 3.1', response: { 200: Type.Unknown() } },
    handler: async (_request, reply) => {
      text ??= JSON.stringify(app.swagger());
      return reply.header('content-type', 'application/json; charset=utf-8').serializer(String).send(text);
    },
  });
  app.route({
    method: 'GET',
    url: '/api/docs',
    config: { access },
    handler: async (_request, reply) =>
      sendPage(reply, { title: 'Tidegate API', body: docsPage(app.swagger()) }),
  });
}
