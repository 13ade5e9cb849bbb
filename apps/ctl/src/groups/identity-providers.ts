import type { Identity } from '@tidegate/protocol/identity-providers-api';
import type { Columns } from '@tidegate/terminal/show-table';
import { atMinute } from '@tidegate/terminal/words';
import { change, show, table } from '../act.ts';
import type { Group } from '../group.ts';

/** Accounts that log an operator in. */
export const IDENTITIES: Columns<Identity> = {
  ID: ({ id }) => id,
  PROVIDER: ({ provider_id: provider }) => provider,
  ISSUER: ({ issuer }) => issuer,
  SUBJECT: ({ subject }) => subject,
  'LAST USED': ({ last_used_at: at }) => at && atMinute(at),
};

const ABOUT = {
  name: 'as the login page shows it',
  'client-id': 'the id of this server at the provider',
  'client-auth': 'how the secret is sent (client_secret_basic)',
};

export const IDENTITY_PROVIDERS: Group = {
  name: 'identity-providers',
  summary: 'identity providers (OpenID Connect) that log operators in: list, show, add, change, test, delete',
  about: `The secret of the client is asked for at the terminal, or is a line of the standard input; it is never an argument. A new
provider is off: test it, then "change --enabled true". The mapping of groups to roles is in the file of --body.`,
  acts: [
    table('GET /api/v1/admin/identity-providers', {
      act: 'list',
      items: ({ items }) => items,
      columns: {
        ID: ({ id }) => id,
        NAME: ({ name }) => name,
        ISSUER: ({ issuer }) => issuer,
        ON: ({ enabled }) => enabled,
        OPERATORS: ({ operators }) => operators,
      },
    }),
    show('GET /api/v1/admin/identity-providers/{id}', { act: 'show' }),
    change('POST /api/v1/admin/identity-providers', {
      act: 'add',
      operands: ['id'],
      about: ABOUT,
      says: ({ name, redirect_uri }) => `${name} is added. Register this redirect URI there: ${redirect_uri}`,
    }),
    change('PATCH /api/v1/admin/identity-providers/{id}', {
      act: 'change',
      about: ABOUT,
      says: ({ name, enabled }) => `${name} is changed, and ${enabled ? 'on' : 'off'}.`,
    }),
    table('POST /api/v1/admin/identity-providers/{id}/test', {
      act: 'test',
      items: ({ checks }) => checks,
      columns: {
        CHECK: ({ check }) => check,
        OUTCOME: ({ outcome }) => outcome,
        WHAT: ({ text }) => text,
      },
    }),
    change('DELETE /api/v1/admin/identity-providers/{id}', {
      act: 'delete',
      says: 'The identity provider is deleted; its sessions have ended.',
    }),
  ],
};
