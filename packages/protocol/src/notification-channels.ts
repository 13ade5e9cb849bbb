import { type Static, Type } from 'typebox';
import { strict } from './scalars.ts';

/** Longest secret of a channel, in characters: a password, a token or a URL. */
export const CHANNEL_SECRET_MAX = 4_096;
/** Recipients of one mail. */
export const MAIL_RECIPIENTS_MAX = 50;

/** A URL of a server, without user, password or fragment. http:// is for channels that say `allow_http`. */
const ServerUrl = Type.String({
  pattern: '^https?://[^\\s/?#@\\\\]+(/[!-~]*)?$',
  minLength: 9,
  maxLength: 1_024,
  description: 'URL that begins with https://, without user and password',
});
/** Lets messages and secrets pass in the clear to a server that has no TLS. */
const AllowHttp = Type.Optional(Type.Boolean());

const MailAddress = Type.String({
  pattern: "^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$",
  minLength: 3,
  maxLength: 254,
  description: 'mail address such as ops@example.org, without a display name',
});

/**
 * Where notices go, by kind, and nothing that is secret. The secret of a kind: the password of `user` for smtp, an access
 * token for ntfy (optional), matrix and telegram, the whole webhook URL for slack, teams and discord. The server makes the
 * signing key of a webhook itself.
 */
export const ChannelConfig = Type.Union([
  strict({ kind: Type.Literal('webhook'), url: ServerUrl, allow_http: AllowHttp }),
  strict({
    kind: Type.Literal('smtp'),
    host: Type.String({
      pattern: '^[A-Za-z0-9]([A-Za-z0-9.:-]{0,251}[A-Za-z0-9])?$',
      maxLength: 253,
      description: 'host name or address, without port',
    }),
    port: Type.Integer({ minimum: 1, maximum: 65_535 }),
    /** `none` sends in the clear, and only without a password. */
    tls: Type.Enum(['implicit', 'starttls', 'none']),
    /** Null: the server wants no login. */
    user: Type.Union([
      Type.String({ pattern: '^[^\\p{C}]{1,254}$', minLength: 1, maxLength: 254 }),
      Type.Null(),
    ]),
    from: MailAddress,
    to: Type.Array(MailAddress, { minItems: 1, maxItems: MAIL_RECIPIENTS_MAX, uniqueItems: true }),
  }),
  strict({
    kind: Type.Literal('ntfy'),
    server: ServerUrl,
    topic: Type.String({ pattern: '^[-_A-Za-z0-9]{1,64}$', maxLength: 64, description: 'topic of ntfy' }),
    allow_http: AllowHttp,
  }),
  strict({ kind: Type.Literal('slack') }),
  strict({ kind: Type.Literal('teams') }),
  strict({
    kind: Type.Literal('matrix'),
    server: ServerUrl,
    room: Type.String({
      pattern: '^![!-~]{1,254}$',
      maxLength: 255,
      description: 'id of a room, which begins with an exclamation mark',
    }),
    allow_http: AllowHttp,
  }),
  strict({ kind: Type.Literal('discord') }),
  strict({
    kind: Type.Literal('telegram'),
    server: ServerUrl,
    chat: Type.String({
      pattern: '^(-?\\d{1,20}|@[A-Za-z]\\w{3,31})$',
      maxLength: 33,
      description: 'number of a chat, or @name of a public one',
    }),
  }),
]);
export type ChannelConfig = Static<typeof ChannelConfig>;
export type ChannelKind = ChannelConfig['kind'];
