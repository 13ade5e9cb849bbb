import type { ChannelConfig, ChannelKind } from '@tidegate/protocol/notification-channels';
import type { ChannelRequest, NotificationChannel } from '@tidegate/protocol/notifications-api';

export const CHANNELS = '/api/v1/notifications/channels';

export const KINDS: Readonly<Record<ChannelKind, string>> = {
  smtp: 'Mail',
  webhook: 'Webhook',
  ntfy: 'ntfy',
  slack: 'Slack',
  teams: 'Microsoft Teams',
  matrix: 'Matrix',
  discord: 'Discord',
  telegram: 'Telegram',
};
export const KIND_KEYS = [
  'smtp',
  'webhook',
  'ntfy',
  'slack',
  'teams',
  'matrix',
  'discord',
  'telegram',
] as const satisfies readonly ChannelKind[];

export const TELEGRAM_SERVER = 'https://api.telegram.org';

export const ENCRYPTIONS = {
  implicit: 'TLS from the start',
  starttls: 'STARTTLS',
  none: 'none',
} as const;
export type Encryption = keyof typeof ENCRYPTIONS;
export const USUAL_PORTS: Readonly<Record<Encryption, number>> = { implicit: 465, starttls: 587, none: 25 };

/** What is secret about a kind, and whether it works without; null: the server makes the key itself. */
export const SECRETS: Readonly<
  Record<ChannelKind, { readonly label: string; readonly hint: string; readonly isOptional?: true } | null>
> = {
  webhook: null,
  smtp: {
    label: 'Password',
    hint: 'Leave empty if the mail server needs no login.',
    isOptional: true,
  },
  ntfy: {
    label: 'Access token',
    hint: 'Leave empty for a topic that anyone may write to.',
    isOptional: true,
  },
  slack: { label: 'URL of the webhook', hint: 'From Incoming Webhooks of your Slack app.' },
  teams: {
    label: 'URL of the workflow',
    hint: 'From a workflow "when a Teams webhook request is received".',
  },
  matrix: { label: 'Access token', hint: 'Of an account that is in the room.' },
  discord: { label: 'URL of the webhook', hint: 'From Integrations in the settings of the channel.' },
  telegram: { label: 'Token of the bot', hint: 'From BotFather. Add the bot to the chat.' },
};

/** Where a channel sends to, without its secret. */
export function targetText(config: ChannelConfig): string {
  switch (config.kind) {
    case 'webhook':
      return config.url;
    case 'smtp':
      return `${config.to.join(', ')} by ${config.host}`;
    case 'ntfy':
      return `${config.topic} on ${hostOf(config.server)}`;
    case 'matrix':
      return `${config.room} on ${hostOf(config.server)}`;
    case 'telegram':
      return `chat ${config.chat}`;
    case 'slack':
    case 'teams':
    case 'discord':
      return 'the address that its URL holds';
  }
}

/** The request that a form makes; `text` reads one of its fields. */
export function requestOf(
  kind: ChannelKind,
  { text, isEnabled }: { text: (name: string) => string; isEnabled: boolean },
): ChannelRequest {
  const secret = text('secret');
  return {
    ...{ name: text('name').trim(), is_enabled: isEnabled, config: configOf(kind, text) },
    ...(secret !== '' && { secret }),
  };
}

function configOf(kind: ChannelKind, text: (name: string) => string): ChannelConfig {
  const trimmed = (name: string) => text(name).trim();
  const http = text('allow_http') === 'on' ? { allow_http: true } : {};
  switch (kind) {
    case 'webhook':
      return { kind, url: trimmed('url'), ...http };
    case 'smtp':
      return {
        ...{ kind, host: trimmed('host'), port: Number(text('port')), tls: encryptionOf(text('tls')) },
        ...{ user: trimmed('user') || null, from: trimmed('from'), to: linesOf(text('to')) },
      };
    case 'ntfy':
      return { kind, server: trimmed('server'), topic: trimmed('topic'), ...http };
    case 'matrix':
      return { kind, server: trimmed('server'), room: trimmed('room'), ...http };
    case 'telegram':
      return { kind, server: trimmed('server'), chat: trimmed('chat') };
    case 'slack':
    case 'teams':
    case 'discord':
      return { kind };
  }
}

export function encryptionOf(text: string): Encryption {
  return text === 'none' || text === 'starttls' ? text : 'implicit';
}

/** A change that sets only whether it is on. */
export function switched({ name, config, is_enabled }: NotificationChannel): ChannelRequest {
  return { name, config, is_enabled: !is_enabled };
}

function linesOf(text: string): string[] {
  const found = text.split(/[\s,;]+/).filter((line) => line !== '');
  return [...new Set(found)];
}

function hostOf(url: string): string {
  return URL.parse(url)?.host ?? url;
}
