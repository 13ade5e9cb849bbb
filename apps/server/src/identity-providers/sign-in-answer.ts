import type { Grant } from '@tidegate/protocol/identity-providers-api';
import type { FactorPolicy } from '../operators/demand-factor.ts';
import type { EndTokens } from '../operators/end-access.ts';
import type { Account } from '../operators/identities/store.ts';
import { recordLogInFailure } from '../operators/sessions/log-in.ts';
import type { Client } from '../operators/sessions/open-session.ts';
import type { OperatorTokens } from '../operators/sessions/operator-tokens.ts';
import type { Platform } from '../platform/platform.ts';
import { groupsIn } from './claim-rules.ts';
import { grantOf } from './mapping-rules.ts';
import { readProvider } from './provider.ts';
import type { ProvenAccount, ProviderClient } from './provider-client.ts';
import type { SignIn } from './sign-in-cookie.ts';
import type { ProviderRow } from './store.ts';

export interface FinishDeps {
  platform: Platform;
  client: ProviderClient;
  tokens: OperatorTokens;
  factorPolicy: FactorPolicy;
  endTokens: EndTokens;
  /** Seals what the database keeps of providers. */
  key: Buffer;
}

export type Finished =
  | {
      kind: 'logged_in';
      session: { token: string; csrfToken: string };
      /** A second factor of the operator must be proven before the session opens anything. */
      needsFactor: boolean;
    }
  | { kind: 'proven' }
  | { kind: 'bound' }
  /** In words for the person at the browser. */
  | { kind: 'refused'; text: string };

export interface Answer {
  signIn: SignIn;
  /** The query of the callback, as it came. */
  query: string;
  client: Client;
}

export interface Proof {
  row: ProviderRow;
  account: ProvenAccount;
}

export interface Why {
  reason: string;
  text: string;
}

export const CHANGED: Why = {
  reason: 'changed',
  text: 'Something was changed while you signed in: start again.',
};
export const DISABLED: Why = {
  reason: 'disabled',
  text: 'Your operator is disabled here. An admin can enable it.',
};
export const SESSION_ENDED: Why = { reason: 'session_ended', text: 'The session has ended: log in again.' };

/** What the account may do, and the words for having nothing. */
export function judge(row: ProviderRow, { claims }: ProvenAccount): { grant: Grant | null; text: string } {
  const provider = readProvider(row);
  const found = groupsIn(claims, provider.groupClaim);
  const groups = found.kind === 'groups' ? found.groups : [];
  return { grant: grantOf(provider, groups), text: noAccess(provider.groupClaim, found) };
}

function noAccess(claim: string, found: ReturnType<typeof groupsIn>): string {
  switch (found.kind) {
    case 'missing':
      return `You have no access: the provider did not send the claim ${claim}, which lists your groups. Set it up for this application at the provider.`;
    case 'elsewhere':
      return `You have no access: you are in too many groups for the claim ${claim}. Have the provider send only the groups that are assigned to this application.`;
    case 'groups':
      return found.groups.length === 0
        ? 'You have no access: you are in no group at the provider.'
        : 'You have no access: none of your groups at the provider has a role here.';
  }
}

/** Records a failed sign-in with its reason, and the account if it was proven: an admin may bind it. */
export async function refuse(
  { platform }: FinishDeps,
  { signIn, client }: Answer,
  { reason, text }: Why,
  account: Account | null = null,
): Promise<Finished> {
  platform.log.info('a sign-in by an identity provider failed', { provider: signIn.provider_id, reason });
  await platform.database.transact((tx) =>
    recordLogInFailure(tx, platform, {
      operator: signIn.session && { id: signIn.session.operator_id, username: signIn.session.username },
      ...{ client, stage: 'provider' },
      content: {
        ...{ provider: signIn.provider_id, purpose: signIn.purpose, reason },
        ...(account ? { issuer: account.issuer, subject: account.subject } : {}),
      },
    }),
  );
  return { kind: 'refused', text };
}
