import { nullish } from '@tidegate/protocol/scalars';
import { type Static, Type } from 'typebox';

/** Responses of the OSV API, as far as they are used; it may add fields at any time. */
const Id = Type.String({ minLength: 1, maxLength: 256 });
const Modified = Type.String({ minLength: 1, maxLength: 64 });

export const BatchEntry = Type.Object({
  vulns: Type.Optional(Type.Array(Type.Object({ id: Id, modified: Modified }), { maxItems: 10_000 })),
  next_page_token: Type.Optional(Type.String({ maxLength: 4_096 })),
});
export type BatchEntry = Static<typeof BatchEntry>;
export const BatchAnswer = Type.Object({ results: Type.Array(BatchEntry, { maxItems: 1_000 }) });

const Text = Type.String();
const Events = Type.Array(
  Type.Object({
    introduced: Type.Optional(Text),
    fixed: Type.Optional(Text),
    last_affected: Type.Optional(Text),
    limit: Type.Optional(Text),
  }),
);

/** A record of the OSV schema, as far as operators see it. */
export const OsvRecord = Type.Object({
  id: Id,
  modified: Modified,
  withdrawn: nullish(Text),
  summary: nullish(Text),
  aliases: nullish(Type.Array(Text)),
  upstream: nullish(Type.Array(Text)),
  related: nullish(Type.Array(Text)),
  severity: nullish(Type.Array(Type.Object({ type: Text, score: Text }))),
  affected: nullish(
    Type.Array(
      Type.Object({
        package: nullish(Type.Object({ ecosystem: Text, name: Text })),
        ranges: nullish(Type.Array(Type.Object({ type: Text, events: nullish(Events) }))),
        ecosystem_specific: Type.Optional(Type.Unknown()),
        database_specific: Type.Optional(Type.Unknown()),
      }),
    ),
  ),
  database_specific: nullish(
    Type.Object({ cwe_ids: nullish(Type.Array(Text)), severity: nullish(Type.Unknown()) }),
  ),
});
export type OsvRecord = Static<typeof OsvRecord>;
