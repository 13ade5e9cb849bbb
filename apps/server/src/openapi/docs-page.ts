import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { type Html, html } from '../platform/http/html-page.ts';

/** The parts of the document on the page. */
const Media = Type.Record(Type.String(), Type.Object({ schema: Type.Optional(Type.Unknown()) }));
const Operation = Type.Object({
  summary: Type.String(),
  description: Type.Optional(Type.String()),
  tags: Type.Optional(Type.Array(Type.String())),
  parameters: Type.Optional(Type.Array(Type.Object({ name: Type.String(), in: Type.String() }))),
  requestBody: Type.Optional(Type.Object({ content: Media })),
  responses: Type.Record(
    Type.String(),
    Type.Object({ content: Type.Optional(Media), $ref: Type.Optional(Type.String()) }),
  ),
});
type Operation = Static<typeof Operation>;
const Document = Type.Object({
  paths: Type.Record(Type.String(), Type.Record(Type.String(), Operation)),
  components: Type.Object({
    responses: Type.Record(Type.String(), Type.Object({ description: Type.String() })),
  }),
});
type Answers = Static<typeof Document>['components']['responses'];

/** Renders the document as one page without a script: every operation, by tag. */
export function docsPage(document: unknown): Html {
  const parsed = Value.Parse(Document, document);
  const byTag = new Map<string, Html[]>();
  for (const [path, methods] of Object.entries(parsed.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const tag = operation.tags?.[0] ?? 'other';
      byTag.set(tag, [
        ...(byTag.get(tag) ?? []),
        showOperation(`${method.toUpperCase()} ${path}`, operation, parsed.components.responses),
      ]);
    }
  }
  const sections = [...byTag].sort(([a], [b]) => (a < b ? -1 : 1));
  return html`<h1>Tidegate API</h1>
<p>The same as <a href="/api/openapi.json">OpenAPI 3.1</a>.</p>
${sections.map(([tag, operations]) => html`<h2>${tag}</h2>\n${operations}`)}`;
}

function showOperation(title: string, operation: Operation, answers: Answers): Html {
  const parameters = (operation.parameters ?? []).map((p) => html`<li><code>${p.name}</code> (${p.in})</li>`);
  const responses = Object.entries(operation.responses)
    .filter(([, { $ref }]) => $ref === undefined)
    .map(([status, answer]) => showSchema(`Answer ${status}`, answer.content));
  const refusals = Object.entries(operation.responses).flatMap(([status, { $ref }]) => {
    const answer = $ref && answers[$ref.replace('#/components/responses/', '')];
    return answer ? [html`<li>${status} ${answer.description.replaceAll('`', '')}</li>`] : [];
  });
  return html`<details>
<summary><code>${title}</code> ${operation.summary}</summary>
<p>${operation.description ?? ''}</p>
${parameters.length > 0 ? html`<ul>${parameters}</ul>` : ''}
${showSchema('Body', operation.requestBody?.content)}
${responses}
<h3>Refusals</h3>
<ul>${refusals}</ul>
</details>`;
}

function showSchema(title: string, content: Static<typeof Media> | undefined): Html {
  const schema = Object.values(content ?? {})[0]?.schema;
  if (schema === undefined) return html``;
  return html`<h3>${title}</h3>
<pre tabindex="0"><code>${JSON.stringify(schema, null, 2)}</code></pre>`;
}
