import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';

const AnySchema = Type.Unknown();
export const Media = Type.Record(Type.String(), Type.Object({ schema: AnySchema }));
const Success = Type.Object({ content: Type.Optional(Media) });
export const Ref = Type.Object({ $ref: Type.String() });
const Operation = Type.Object({
  summary: Type.String(),
  description: Type.String(),
  security: Type.Array(Type.Record(Type.String(), Type.Array(Type.String()))),
  parameters: Type.Optional(
    Type.Array(
      Type.Object({
        ...{ name: Type.String(), in: Type.String(), schema: AnySchema },
        required: Type.Optional(Type.Boolean()),
        description: Type.Optional(Type.String()),
      }),
    ),
  ),
  requestBody: Type.Optional(Type.Object({ required: Type.Boolean(), content: Media })),
  responses: Type.Record(Type.String(), Type.Union([Ref, Success])),
});
export type Operation = Static<typeof Operation>;
const Document = Type.Object({ paths: Type.Record(Type.String(), Type.Record(Type.String(), Operation)) });

export const GENERATED_HEAD = `// Generated from the OpenAPI document by \`npm run docs\`: do not edit.
// biome-ignore-all format: generated
// biome-ignore-all lint: generated
`;
export const JSON_TYPE = 'application/json';
const EVENTS_TYPE = 'text/event-stream';

/** The operations that operators may call, but for streams: \`GET /api/v1/agents\` and the like. */
export function operationsOf(document: unknown): { name: string; operation: Operation }[] {
  return Object.entries(Value.Parse(Document, document).paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => isOfOperators(operation) && !isStream(operation))
      .map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
  );
}

/** The role and the scope that the description names. Throws where it names none. */
export function calledBy({ security, description }: Operation): {
  role: string | null;
  scope: string | null;
} {
  if (security.length === 0) return { role: null, scope: null };
  const [, role, scope] =
    /^For operators with the role `(\w+)`\. (?:API tokens: scope `(\w+)`|No API token)\./.exec(description) ??
    [];
  if (role === undefined) throw new Error(`not said who may call: ${description}`);
  return { role, scope: scope ?? null };
}

function isOfOperators({ security }: Operation): boolean {
  return security.length === 0 || security.some((scheme) => Object.hasOwn(scheme, 'operatorToken'));
}

function isStream({ responses }: Operation): boolean {
  return Object.values(responses).some(
    (answer) =>
      'content' in answer && answer.content !== undefined && Object.hasOwn(answer.content, EVENTS_TYPE),
  );
}
