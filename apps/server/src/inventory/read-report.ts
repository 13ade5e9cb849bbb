import { hash } from 'node:crypto';
import {
  DELTA_MAX_BYTES,
  INVENTORY_MAX_BYTES,
  INVENTORY_MAX_PACKAGES,
  InventoryDelta,
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

export type ReadDelta = Omit<InventoryDelta, 'updates'> & { updates: readonly ReadUpdate[] };

interface Invalid {
  ok: false;
  kind: 'invalid';
  detail: string;
  errors: readonly FieldFault[];
}

export type Reading =
  | { ok: true; report: ReadReport }
  | Invalid
  /** More packages than one request may have. */
  | { ok: false; kind: 'too_large' };

const FAULTS_MAX = 20;
const reports = Compile(InventoryReport);
const deltas = Compile(InventoryDelta);

/** Parses and checks a report, by its schema and by the rules for plans that a schema cannot express. */
export function readReport(ecosystem: Ecosystem, bytes: Uint8Array): Reading {
  const json = parseStrictJson(bytes, jsonLimits(INVENTORY_MAX_BYTES));
  if (!json.ok) return notJson(json.reason);
  const body = json.value;
  if (namesTooMany(body)) return { ok: false, kind: 'too_large' };
  if (!reports.Check(body)) return notValid([firstFault(InventoryReport, body)]);
  const read = readUpdates(ecosystem, body.updates);
  return read.ok ? { ok: true, report: { ...body, updates: read.updates } } : read;
}

/** Parses and checks a delta in the same way. */
export function readDelta(ecosystem: Ecosystem, bytes: Uint8Array): { ok: true; delta: ReadDelta } | Invalid {
  const json = parseStrictJson(bytes, jsonLimits(DELTA_MAX_BYTES));
  if (!json.ok) return notJson(json.reason);
  const body = json.value;
  if (!deltas.Check(body)) return notValid([firstFault(InventoryDelta, body)]);
  const read = readUpdates(ecosystem, body.updates);
  return read.ok ? { ok: true, delta: { ...body, updates: read.updates } } : read;
}

function notJson(message: string): Invalid {
  const detail = 'The body is not acceptable JSON.';
  return { ok: false, kind: 'invalid', detail, errors: [{ path: '', message }] };
}

function notValid(errors: readonly FieldFault[], detail = 'The body is not valid.'): Invalid {
  return { ok: false, kind: 'invalid', detail, errors };
}

function readUpdates(
  ecosystem: Ecosystem,
  updates: readonly InventoryUpdate[],
): { ok: true; updates: ReadUpdate[] } | Invalid {
  const errors = faultsOf(ecosystem, updates);
  if (errors.length > 0) return notValid(errors, 'A plan in the report is not sound.');
  const read = updates.map((update) =>
    update.plan ? { ...update, planSha256: planDigest(update.plan) } : update,
  );
  return { ok: true, updates: read };
}

function namesTooMany(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || !('packages' in body)) return false;
  return Array.isArray(body.packages) && body.packages.length > INVENTORY_MAX_PACKAGES;
}

export function reportDigest(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex');
}

function faultsOf(ecosystem: Ecosystem, updates: readonly InventoryUpdate[]): FieldFault[] {
  const faults: FieldFault[] = [];
  for (const [index, { name, arch, available_version, plan }] of updates.entries()) {
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
