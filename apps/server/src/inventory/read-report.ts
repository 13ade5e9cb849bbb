import { hash } from 'node:crypto';
import {
  INVENTORY_MAX_BYTES,
  INVENTORY_MAX_PACKAGES,
  InventoryReport,
  type InventoryUpdate,
} from '@tidegate/protocol/agent-api';
import { bundleFaults } from '@tidegate/protocol/bundles';
import { planFaults, targetFault } from '@tidegate/protocol/plan';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Compile } from 'typebox/compile';
import { jsonLimits } from '../platform/http/body-sizes.ts';
import { firstFault } from '../platform/http/first-fault.ts';
import type { FieldFault } from '../platform/http/refusal.ts';
import { planDigest } from '../updates/store-plan.ts';

/** An update of a report; its plan is sound, and was digested by the reader. */
export type ReadUpdate = InventoryUpdate & { planSha256?: string };
export type ReadReport = Omit<InventoryReport, 'updates'> & { updates: readonly ReadUpdate[] };

export type Reading =
  | { ok: true; report: ReadReport }
  | { ok: false; kind: 'invalid'; detail: string; errors: readonly FieldFault[] }
  /** More packages than one request may have. */
  | { ok: false; kind: 'too_large' };

const FAULTS_MAX = 20;
const reports = Compile(InventoryReport);

/** Parses and checks a report, by its schema and by the rules for plans that a schema cannot express. */
export function readReport(ecosystem: Ecosystem, bytes: Uint8Array): Reading {
  const json = parseStrictJson(bytes, jsonLimits(INVENTORY_MAX_BYTES));
  if (!json.ok) {
    const errors = [{ path: '', message: json.reason }];
    return { ok: false, kind: 'invalid', detail: 'The body is not acceptable JSON.', errors };
  }
  const body = json.value;
  if (namesTooMany(body)) return { ok: false, kind: 'too_large' };
  if (!reports.Check(body)) {
    const errors = [firstFault(InventoryReport, body)];
    return { ok: false, kind: 'invalid', detail: 'The body is not valid.', errors };
  }
  const errors = faultsOf(ecosystem, body);
  if (errors.length > 0)
    return { ok: false, kind: 'invalid', detail: 'A plan in the report is not sound.', errors };
  const updates = body.updates.map((update) =>
    update.plan ? { ...update, planSha256: planDigest(update.plan) } : update,
  );
  return { ok: true, report: { ...body, updates } };
}

function namesTooMany(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || !('packages' in body)) return false;
  return Array.isArray(body.packages) && body.packages.length > INVENTORY_MAX_PACKAGES;
}

export function reportDigest(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex');
}

function faultsOf(ecosystem: Ecosystem, report: InventoryReport): FieldFault[] {
  const faults: FieldFault[] = [];
  for (const [index, { name, arch, available_version, plan }] of report.updates.entries()) {
    if (!plan) continue;
    const missed = targetFault(plan, { name, arch, to_version: available_version });
    const bundled = bundleFaults({ ecosystem, actions: plan.actions });
    for (const { path, message } of [...planFaults(plan), ...bundled, ...(missed ? [missed] : [])]) {
      if (faults.length === FAULTS_MAX) return faults;
      faults.push({ path: `/updates/${index}/plan${path}`, message });
    }
  }
  return faults;
}
