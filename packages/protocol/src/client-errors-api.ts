import { type Static, Type } from 'typebox';
import { strict } from './scalars.ts';

/** E7 */
export const CLIENT_ERROR_TYPES = [
  'javascript_error',
  'api_error',
  'ui_error',
  'validation_error',
  'client_debug',
  'client_trace',
] as const;
export const ClientErrorType = Type.Enum(CLIENT_ERROR_TYPES);
export type ClientErrorType = Static<typeof ClientErrorType>;

/** Numbers of `metadata`: members, and characters of each text. */
const METADATA_MEMBERS_MAX = 32;
const METADATA_TEXT_MAX = 1_000;

export const ClientErrorReport = strict({
  error_type: ClientErrorType,
  message: Type.String({ minLength: 1, maxLength: 10_000 }),
  subsystem: Type.Optional(Type.String({ maxLength: 100 })),
  url: Type.Optional(Type.String({ maxLength: 2_000 })),
  stack: Type.Optional(Type.String({ maxLength: 10_000 })),
  metadata: Type.Optional(
    Type.Record(
      Type.String({ pattern: '^[A-Za-z0-9_.-]{1,64}$' }),
      Type.Union([Type.String({ maxLength: METADATA_TEXT_MAX }), Type.Number(), Type.Boolean(), Type.Null()]),
      { maxProperties: METADATA_MEMBERS_MAX, additionalProperties: false },
    ),
  ),
});
export type ClientErrorReport = Static<typeof ClientErrorReport>;

export const ClientErrorAnswer = strict({ accepted: Type.Literal(true) });
