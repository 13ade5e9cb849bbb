import {
  Identities,
  Identity,
  IdentityProvider,
  IdentityProviderChange,
  NewIdentity,
  NewIdentityProvider,
  ProviderId,
  ProviderTest,
} from '@tidegate/protocol/identity-providers-api';
import { Operator } from '@tidegate/protocol/operators-api';
import { strict, Uuid } from '@tidegate/protocol/scalars';
import { bindIdentity, removePassword, unbindIdentity } from '../operators/identities/bind-identity.ts';
import { countIdentities } from '../operators/identities/store.ts';
import { operatorView } from '../operators/operator-view.ts';
import { findOperator } from '../operators/store.ts';
import type { OperatorAccess } from '../platform/http/access.ts';
import { LIST_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { pageOf } from '../platform/http/lists.ts';
import { IdPath } from '../platform/http/paths.ts';
import { noSuch } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import { addProvider, type ChangeProviderDeps, changeProvider, removeProvider } from './change-providers.ts';
import { identitiesOf, identityView } from './identity-view.ts';
import { providerView } from './provider.ts';
import type { ProviderClient } from './provider-client.ts';
import { originOf } from './site.ts';
import { findProvider, listProviders } from './store.ts';
import { testProvider } from './test-provider.ts';

const URL = '/api/v1/admin/identity-providers';
const OPERATOR = '/api/v1/admin/operators/:id';
const read: OperatorAccess = { role: 'admin', limit: 'admin_reads', reach: 'fleet' };
const change: OperatorAccess = { ...read, limit: 'admin_operations', stepUp: 'credentials', scope: null };
const tags = ['identity providers'];
const Path = strict({ id: ProviderId });
const IdentityPath = strict({ id: Uuid, identity_id: Uuid });

export type AdminDeps = ChangeProviderDeps & { client: ProviderClient; baseUrl: string | null };

/** Identity providers, and the accounts of operators, for admins. */
export function mountIdentityProviders(routes: Routes, deps: AdminDeps): void {
  const { platform, client, baseUrl } = deps;
  const { database } = platform;
  routes.operator({
    method: 'GET',
    url: URL,
    access: read,
    schema: { tags, summary: 'Identity providers by name', response: { 200: pageOf(IdentityProvider) } },
    handler: async ({ request }) => {
      const operators = await countIdentities(database.read);
      const items = (await listProviders(database.read)).map((row) =>
        providerView(row, { operators: operators.get(row.id) ?? 0, baseUrl: originOf(request, baseUrl) }),
      );
      return { items, next_cursor: null, total: items.length };
    },
  });
  routes.operator({
    method: 'GET',
    url: `${URL}/:id`,
    access: read,
    schema: {
      tags,
      summary: 'One identity provider',
      params: Path,
      response: { 200: IdentityProvider },
      refuses: ['not_found'],
    },
    handler: async ({ params, request }) => {
      const row = await findProvider(database.read, params.id);
      if (!row) throw noSuch('identity provider');
      const operators = (await countIdentities(database.read)).get(row.id) ?? 0;
      return providerView(row, { operators, baseUrl: originOf(request, baseUrl) });
    },
  });
  routes.operator({
    method: 'POST',
    url: URL,
    access: change,
    bodyMaxBytes: LIST_BODY_MAX_BYTES,
    schema: {
      tags,
      summary: 'Add an identity provider; off unless `enabled` says otherwise',
      body: NewIdentityProvider,
      response: { 201: IdentityProvider },
      refuses: ['conflict'],
    },
    handler: async ({ operator, body, request }) => {
      const row = await addProvider(deps, { asked: body, by: operator });
      return providerView(row, { operators: 0, baseUrl: originOf(request, baseUrl) });
    },
  });
  routes.operator({
    method: 'PATCH',
    url: `${URL}/:id`,
    access: change,
    bodyMaxBytes: LIST_BODY_MAX_BYTES,
    schema: {
      tags,
      summary: 'Change an identity provider; ends its sessions where that changes who may do what',
      params: Path,
      body: IdentityProviderChange,
      response: { 200: IdentityProvider },
      refuses: ['not_found'],
    },
    handler: async ({ operator, params, body, request }) => {
      const row = await changeProvider(deps, { id: params.id, change: body, by: operator });
      const operators = (await countIdentities(database.read)).get(row.id) ?? 0;
      return providerView(row, { operators, baseUrl: originOf(request, baseUrl) });
    },
  });
  routes.operator({
    method: 'DELETE',
    url: `${URL}/:id`,
    access: change,
    schema: {
      tags,
      summary: 'Delete an identity provider with its accounts; ends its sessions',
      params: Path,
      refuses: ['not_found'],
    },
    handler: async ({ operator, params }) => {
      await removeProvider(deps, { id: params.id, by: operator });
    },
  });
  routes.operator({
    method: 'POST',
    url: `${URL}/:id/test`,
    access: { ...read, limit: 'admin_operations', scope: null },
    schema: {
      tags,
      summary: 'Try an identity provider: what works without a person, and what is wrong, in words',
      params: Path,
      response: { 200: ProviderTest },
      refuses: ['not_found', 'unavailable'],
    },
    handler: async ({ params, request }) => {
      const row = await findProvider(database.read, params.id);
      if (!row) throw noSuch('identity provider');
      return testProvider({ platform, client }, { row, origin: originOf(request, baseUrl) });
    },
  });
  routes.operator({
    method: 'GET',
    url: `${OPERATOR}/identities`,
    access: read,
    schema: {
      tags,
      summary: 'Accounts of identity providers that log an operator in',
      params: IdPath,
      response: { 200: Identities },
      refuses: ['not_found'],
    },
    handler: async ({ params }) => identitiesOf(database.read, params.id),
  });
  routes.operator({
    method: 'POST',
    url: `${OPERATOR}/identities`,
    access: change,
    schema: {
      tags,
      summary: 'Bind an operator to an account, by issuer and subject',
      params: IdPath,
      body: NewIdentity,
      response: { 201: Identity },
      refuses: ['conflict', 'not_found'],
    },
    handler: async ({ operator: by, params, body }) => {
      const { provider_id: providerId, subject } = body;
      const bound = await database.transact(async (tx) => {
        const operator = await findOperator(tx, params.id);
        if (!operator) throw noSuch('operator');
        const provider = await findProvider(tx, providerId);
        if (!provider) throw noSuch('identity provider');
        const account = { providerId, issuer: body.issuer ?? provider.issuer, subject };
        return { row: await bindIdentity(tx, platform, { operator, account, by }), provider };
      });
      return identityView(bound.row, bound.provider.name);
    },
  });
  routes.operator({
    method: 'DELETE',
    url: `${OPERATOR}/identities/:identity_id`,
    access: change,
    schema: {
      tags,
      summary: 'Unbind an account of an operator; ends the sessions that it opened',
      params: IdentityPath,
      refuses: ['conflict', 'not_found'],
    },
    handler: async ({ operator: by, params }) => {
      await unbindIdentity(platform, { id: params.identity_id, operatorId: params.id, by });
    },
  });
  routes.operator({
    method: 'DELETE',
    url: `${OPERATOR}/password`,
    access: change,
    schema: {
      tags,
      summary: 'Remove the password of an operator with an account; not of the last admin with one',
      params: IdPath,
      response: { 200: Operator },
      refuses: ['conflict', 'not_found'],
    },
    handler: async ({ operator: by, params }) =>
      operatorView(database.read, await removePassword(platform, { id: params.id, by })),
  });
}
