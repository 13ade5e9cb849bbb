import { strict } from '@tidegate/protocol/scalars';
import {
  VEX_STATEMENTS_MAX,
  VexFormat,
  VexImportAnswer,
  VexImportRequest,
  VexStatement,
  VexStatementDetail,
  VexStatementRequest,
} from '@tidegate/protocol/vex-api';
import { Type } from 'typebox';
import type { OperatorAccess } from '../platform/http/access.ts';
import { BULK_BODY_MAX_BYTES, LIST_BODY_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { askedPage, cutPage, PageQuery, pageOf } from '../platform/http/lists.ts';
import { IdPath } from '../platform/http/paths.ts';
import { noSuch, Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import { addStatements, type VexDeps } from './add-statements.ts';
import { revokeStatement } from './end-statements.ts';
import { exportDocument, NOTHING_TO_EXPORT } from './export-document.ts';
import { demandSound, importDocument } from './import-document.ts';
import { statementDetail, statementView } from './statement-view.ts';
import { countStatements, findStatement, listStatements } from './store.ts';

const URL = '/api/v1/admin/vex-statements';
const tags = ['vulnerability statements'];
const read: OperatorAccess = { role: 'viewer', limit: 'admin_reads', reach: 'fleet' };
/** A statement lets updates pass that the gate stops, on many hosts and for a long time. */
const change: OperatorAccess = {
  ...{ role: 'admin', limit: 'admin_operations', reach: 'fleet', scope: 'override' },
  stepUp: true,
};

/** Operators' statements about vulnerabilities (VEX). */
export function mountStatements(routes: Routes, deps: VexDeps): void {
  const { platform, keyRing } = deps;
  const { database } = platform;

  routes.operator({
    ...{ method: 'GET', url: URL, access: read },
    schema: {
      summary: 'Statements about vulnerabilities, newest first, with those that have ended',
      tags,
      querystring: strict(PageQuery),
      response: { 200: pageOf(VexStatement) },
    },
    handler: async ({ query }) => {
      const { limit, after: before } = askedPage(query);
      const rows = await listStatements(database.read, { limit: limit + 1, before });
      const { page, next_cursor } = cutPage(rows, { limit, keyOf: ({ id }) => id });
      const items = page.map((row) => statementView(row, platform.now()));
      return { items, next_cursor, total: await countStatements(database.read) };
    },
  });

  routes.operator({
    ...{ method: 'GET', url: `${URL}/:id`, access: read },
    schema: {
      summary: 'One statement, with the envelope that the server signed',
      tags,
      params: IdPath,
      response: { 200: VexStatementDetail },
      refuses: ['not_found'],
    },
    handler: async ({ params }) => {
      const row = await findStatement(database.read, params.id);
      if (!row) throw noSuch('statement');
      return statementDetail(row, platform.now());
    },
  });

  routes.operator({
    ...{ method: 'POST', url: URL, access: change, bodyMaxBytes: LIST_BODY_MAX_BYTES },
    schema: {
      summary: 'State that a vulnerability does not affect a package, or that its risk is accepted',
      tags,
      body: VexStatementRequest,
      response: { 201: VexStatementDetail },
      refuses: ['conflict'],
    },
    handler: async ({ operator, body }) => {
      await demandSound(database.read, [{ request: body, at: '' }], platform.now());
      const actor = operator.username;
      const [row] = await database.transact((tx) =>
        addStatements(tx, deps, { requests: [body], actor, imported: null }),
      );
      if (!row) throw new Error('every statement has a row');
      return statementDetail(row, platform.now());
    },
  });

  routes.operator({
    ...{ method: 'DELETE', url: `${URL}/:id`, access: change },
    schema: {
      summary: 'Revoke a statement. Approvals that were signed with it keep their token',
      tags,
      params: IdPath,
      response: { 204: Type.Null() },
      refuses: ['not_found'],
    },
    handler: async ({ operator, params }) => {
      const asked = { id: params.id, actor: operator.username };
      if (!(await database.transact((tx) => revokeStatement(tx, platform, asked)))) throw noSuch('statement');
    },
  });

  routes.operator({
    ...{ method: 'GET', url: '/api/v1/admin/vex-document', access: read },
    schema: {
      summary: 'All statements in force as one OpenVEX or CycloneDX document',
      tags,
      querystring: strict({ format: VexFormat }),
      response: { 200: Type.Unknown() },
      refuses: ['conflict'],
    },
    handler: async ({ query }) => {
      const document = await exportDocument(platform, { format: query.format, fleetId: keyRing.fleetId });
      if (!document) throw new Refusal('conflict', { detail: NOTHING_TO_EXPORT });
      return document;
    },
  });

  routes.operator({
    ...{
      method: 'POST',
      url: '/api/v1/admin/vex-document',
      access: change,
      bodyMaxBytes: BULK_BODY_MAX_BYTES,
    },
    schema: {
      summary: 'Import the statements of an OpenVEX or CycloneDX document, all or nothing',
      tags,
      body: VexImportRequest,
      response: { 200: VexImportAnswer },
      refuses: ['conflict'],
    },
    handler: ({ operator, body }) => {
      const { format, document, scope, ends_at } = body;
      const defaults = { scope, ends_at };
      const actor = operator.username;
      return importDocument(deps, { format, document, defaults, actor, limit: VEX_STATEMENTS_MAX });
    },
  });
}
