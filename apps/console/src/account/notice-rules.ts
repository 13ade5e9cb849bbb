import { isolated } from '@tidegate/protocol/isolated';
import type { Notice, NoticeKind } from '@tidegate/protocol/notices-api';

const WORDS: Readonly<Record<NoticeKind, (subject: string) => string>> = {
  totp_added: () => 'An authenticator app was added',
  totp_removed: () => 'The authenticator app was removed',
  passkey_added: (name) => `The passkey ${isolated(name)} was added`,
  passkey_renamed: (name) => `A passkey was renamed to ${isolated(name)}`,
  passkey_removed: (name) => `The passkey ${isolated(name)} was removed`,
  recovery_codes_made: () => 'New recovery codes were created; the old ones no longer work',
  recovery_code_used: () => 'A recovery code was used',
  password_changed: () => 'The password was changed',
  password_reset: () => 'An admin set a new password',
  factors_reset: () => 'Second factors were reset; only those marked to keep remain',
  sessions_ended: (count) => `${count} ${count === '1' ? 'session was' : 'sessions were'} ended`,
  api_token_created: (label) => `The API token ${isolated(label)} was created`,
  api_token_revoked: (label) => `The API token ${isolated(label)} was revoked`,
  api_tokens_ended: (count) => `${count} ${count === '1' ? 'API token was' : 'API tokens were'} revoked`,
  identity_bound: (provider) => `An account of ${provider} can log you in from now on`,
  identity_unbound: (provider) => `An account of ${provider} was unbound`,
  identities_ended: (count) =>
    `${count} ${count === '1' ? 'account of an identity provider was' : 'accounts of identity providers were'} unbound`,
  logins_slowed: () => 'Many wrong passwords were tried; logins from unknown devices are delayed',
  access_changed: () => 'The role, groups or state of the account changed',
};

/** What happened, as a sentence without its full stop. */
export function noticeText({ kind, subject }: Pick<Notice, 'kind' | 'subject'>): string {
  return WORDS[kind](subject ?? '');
}

/** Who did it and from where. */
export function noticeOrigin(
  { actor, address }: Pick<Notice, 'actor' | 'address'>,
  ownName: string | null,
): string {
  const who = actor === ownName ? 'you' : actor;
  return address === null
    ? `by ${isolated(who)}, on the server's machine`
    : `by ${isolated(who)}, from ${address}`;
}
