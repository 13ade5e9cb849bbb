import { nullable, Sha256Hex, strict, Timestamp, Uuid } from '@tidegate/protocol/scalars';
import { type Static, Type } from 'typebox';

/** Version of the form of an export. */
export const EXPORT_VERSION = 1;

const Position = Type.Integer({ minimum: 0 });
const TextOrNull = nullable(Type.String());
const Place = strict({ position: Position, hash: nullable(Sha256Hex) });

export const ExportHeader = strict({
  tidegate_events: Type.Literal(EXPORT_VERSION),
  fleet_id: Uuid,
  exported_at: Timestamp,
  start: Place,
  /** Whether it ends at the requested position, and not at the end of the log. */
  partial: Type.Boolean(),
});
export const ExportCheckpoint = strict({ checkpoint: Type.Unknown() });
/** The hash covers every member; `content` is the stored text. */
export const ExportEvent = strict({
  event: strict({
    position: Position,
    id: Type.String(),
    kind: Type.Enum(['security', 'system']),
    type: Type.String(),
    severity: Type.String(),
    component: Type.String(),
    agent_id: TextOrNull,
    actor: TextOrNull,
    content: Type.String(),
    created_at: Type.Integer(),
    previous_hash: TextOrNull,
    hash: Type.String(),
  }),
});
export const ExportEnd = strict({ end: Place });

export type ExportLine =
  | Static<typeof ExportHeader>
  | Static<typeof ExportCheckpoint>
  | Static<typeof ExportEvent>
  | Static<typeof ExportEnd>;
