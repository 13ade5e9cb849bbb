import { hash } from 'node:crypto';

import { INVENTORY_MAX_BYTES, InventoryAnswer, InventoryReport } from '@tidegate/protocol/agent-api';
import { bundleFaults } from '@tidegate/protocol/bundles';
import { planFaults, targetFault } from '@tidegate/protocol/plan';
import { Problem } from '@tidegate/protocol/problems';
import { Ecosystem, strict, Uuid } from '@tidegate/protocol/scalars';
import { Compile } from 'typebox/compile';
import { ownAgent } from '../agents/own-agent.ts';
import { parseBody } from '../platform/http/body.ts';
import { type FieldFault, Refusal } from '../platform/http/refusal.ts';
import type { App } from '../platform/http/server.ts';
import { compileValidator } from '../platform/http/validate.ts';
import { openUpdates } from '../updates/record-scan.ts';
import { mountInstalled } from './installed-routes.ts';
import { type ReportDeps, recordReport } from './record-report.ts';
import { findReport } from './store.ts';

/** The reports of agents: what is installed, what could be updated, and with which plan; and what operators read of them. */
export function mountInventory(app: App, deps: ReportDeps): void {
  const { database } = deps.platform;
  app.route({
    method: 'PUT',
    url: '/api/v1/agents/:agent_id/inventory/:ecosystem',
    bodyLimit: INVENTORY_MAX_BYTES,
    config: {
      access: { kind: 'agent', limit: 'agent_reports' },
      bodyMaxBytes: INVENTORY_MAX_BYTES,
      parseLater: true,
    },
    schema: {
      summary: 'What is installed and what could be updated, of one ecosystem',
      tags: ['agents'],
      params: strict({ agent_id: Uuid, ecosystem: Ecosystem }),
      body: InventoryReport,
      response: { 200: InventoryAnswer, 400: Problem, 413: Problem },
    },
    // The body is hashed first, and parsed only where it is not the one that is stored.
    validatorCompiler: (route) => (route.httpPart === 'body' ? () => true : compileValidator(route)),
    handler: async (request) => {
      const { agentId } = ownAgent(request, request.params.agent_id);
      const { ecosystem } = request.params;
      const section = { agentId, ecosystem };
      const bytes = request.rawBody;
      if (!bytes) throw new Refusal('invalid_request', { detail: 'The body is missing.' });
      const digest = hash('sha256', bytes, 'hex');
      const stored = await findReport(database.read, section);
      if (stored?.digest === digest) {
        return { accepted: true, updates: await openUpdates(database.read, section) };
      }
      const report = reportIn(bytes);
      const errors = faultsOf(ecosystem, report);
      if (errors.length > 0) {
        throw new Refusal('invalid_request', { detail: 'A plan in the report is not sound.', errors });
      }
      const updates = await database.transact((tx) => recordReport(tx, deps, { ...section, report, digest }));
      if (!updates) throw new Refusal('not_found', { detail: 'There is no such agent.' });
      return { accepted: true, updates };
    },
  });
  mountInstalled(app, deps);
}

const reports = Compile(InventoryReport);

function reportIn(bytes: Buffer): InventoryReport {
  const body = parseBody(bytes);
  if (reports.Check(body)) return body;
  const errors = reports
    .Errors(body)
    .slice(0, FAULTS_MAX)
    .map(({ instancePath, message }) => ({ path: instancePath, message }));
  throw new Refusal('invalid_request', { detail: 'The body is not valid.', errors });
}

const FAULTS_MAX = 20;

function faultsOf(ecosystem: Ecosystem, report: InventoryReport): FieldFault[] {
  const faults: FieldFault[] = [];
  for (const [index, { name, available_version, plan }] of report.updates.entries()) {
    if (!plan) continue;
    const missed = targetFault(plan, { name, version: available_version });
    const bundled = bundleFaults({ ecosystem, actions: plan.actions });
    for (const { path, message } of [...planFaults(plan), ...bundled, ...(missed ? [missed] : [])]) {
      if (faults.length === FAULTS_MAX) return faults;
      faults.push({ path: `/updates/${index}/plan${path}`, message });
    }
  }
  return faults;
}
