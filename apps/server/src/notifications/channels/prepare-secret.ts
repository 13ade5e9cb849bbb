import type { ChannelConfig } from '@tidegate/protocol/notification-channels';
import type { FieldFault } from '../../platform/http/refusal.ts';
import type { RandomBytes } from '../../platform/ids.ts';
import { SEED_BYTES, seedOf, webhookKeys } from './webhook.ts';

export interface Asked {
  readonly config: ChannelConfig;
  /** What the operator entered; null when nothing. */
  readonly given: string | null;
  /** The channel before the change; null for a new one. */
  readonly kept: { readonly config: ChannelConfig; readonly secret: string | null } | null;
  readonly random: RandomBytes;
}

export type PreparedSecret =
  /** `receiverKey`: what a receiver verifies with; no secret. */
  | { readonly ok: true; readonly secret: string | null; readonly receiverKey: string | null }
  | { readonly ok: false; readonly fault: FieldFault };

const BOT_TOKEN = /^\d{1,20}:[\w-]{20,100}$/;
/** What a header can carry as a token. */
const TOKEN = /^[!-~]+$/;

/** The secret that a channel is stored with, or what is wrong with its configuration or secret. */
export function prepareSecret({ config, given, kept, random }: Asked): PreparedSecret {
  const wrong = configFault(config);
  if (wrong) return { ok: false, fault: wrong };
  if (config.kind === 'webhook') {
    if (given !== null) return refuse('must be null: the server makes the signing key of a webhook itself');
    const seed = kept?.config.kind === 'webhook' && kept.secret ? seedOf(kept.secret) : random(SEED_BYTES);
    return { ok: true, ...webhookKeys(seed) };
  }
  const isSameTarget = kept !== null && targetOf(kept.config) === targetOf(config);
  // A stored password must not follow to a server that only the new address names.
  if (given === null && kept?.secret && !isSameTarget)
    return refuse('must be entered again, because the server, the user or the encryption changes');
  const secret = given ?? kept?.secret ?? null;
  const fault = secretFault(config, secret);
  return fault === null ? { ok: true, secret, receiverKey: null } : refuse(fault);
}

function refuse(message: string): PreparedSecret {
  return { ok: false, fault: { path: '/secret', message } };
}

function configFault(config: ChannelConfig): FieldFault | null {
  switch (config.kind) {
    case 'webhook':
      return urlFault('/config/url', config.url, config.allow_http);
    case 'ntfy':
    case 'matrix':
      return urlFault('/config/server', config.server, config.allow_http);
    case 'telegram':
      return urlFault('/config/server', config.server, false);
    case 'smtp':
      return config.tls === 'none' && config.user !== null
        ? {
            path: '/config/tls',
            message: 'must not be none where there is a user: passwords are not sent in the clear',
          }
        : null;
    case 'slack':
    case 'teams':
    case 'discord':
      return null;
  }
}

function urlFault(path: string, text: string, allowHttp = false): FieldFault | null {
  const message = urlProblem(text, allowHttp);
  return message === null ? null : { path, message };
}

function urlProblem(text: string, allowHttp: boolean): string | null {
  const url = URL.parse(text);
  if (url === null) return 'must be a URL such as https://hooks.example.org/tidegate';
  if (url.username !== '' || url.password !== '' || url.hash !== '')
    return 'must have no user, password or fragment';
  if (url.protocol === 'https:' || (url.protocol === 'http:' && allowHttp)) return null;
  return `must begin with https://${url.protocol === 'http:' ? ': others on the way read http://' : ''}`;
}

function secretFault(
  config: Exclude<ChannelConfig, { kind: 'webhook' }>,
  secret: string | null,
): string | null {
  switch (config.kind) {
    case 'slack':
    case 'teams':
    case 'discord':
      return secret === null ? 'must be the URL of the webhook' : urlProblem(secret, false);
    case 'telegram':
      return BOT_TOKEN.test(secret ?? '') ? null : 'must be the token of a bot, such as 123456:ABC…';
    case 'matrix':
      return TOKEN.test(secret ?? '') ? null : 'must be an access token, without spaces';
    case 'ntfy':
      return secret === null || TOKEN.test(secret) ? null : 'must be an access token, without spaces';
    case 'smtp':
      if (config.user === null) return secret === null ? null : 'must be null where there is no user';
      return secret ? null : 'must be the password of the user';
  }
}

/** Who gets the secret, and how safely. A webhook's key is never sent. */
function targetOf(config: ChannelConfig): string {
  switch (config.kind) {
    case 'smtp':
      return JSON.stringify(['smtp', config.host, config.port, config.tls, config.user]);
    case 'ntfy':
    case 'matrix':
    case 'telegram':
      return JSON.stringify([config.kind, config.server]);
    case 'webhook':
    case 'slack':
    case 'teams':
    case 'discord':
      return config.kind;
  }
}
