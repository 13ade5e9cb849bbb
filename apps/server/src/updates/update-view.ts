import type { HeldBack } from '@tidegate/protocol/holds-api';
import { Ecosystem } from '@tidegate/protocol/scalars';
import { UpdateState, VulnerabilityVerdict } from '@tidegate/protocol/states';
import type {
  PackageItem,
  Sibling,
  UpdatedHost,
  UpdateHistoryEntry,
  UpdateItem,
  UpdatePlan,
} from '@tidegate/protocol/updates-api';
import { Value } from 'typebox/value';
import { rfc3339 } from '../platform/clock.ts';
import type { ListedHost } from './host-store.ts';
import type { ListedUpdate } from './list-store.ts';
import { offersOf, RECOMMENDED_HERE } from './offer-rules.ts';
import type { PackageRow } from './package-store.ts';
import type { SiblingRow } from './siblings-store.ts';
import type { HistoryRow, StoredPlan } from './store.ts';

/** A row as sent on the wire. */
export function updateItem(row: ListedUpdate): UpdateItem {
  return {
    id: row.id,
    agent_id: row.agent_id,
    hostname: row.hostname,
    ecosystem: Value.Parse(Ecosystem, row.ecosystem),
    name: row.name,
    arch: row.arch === '' ? null : row.arch,
    current_version: row.current_version,
    available_version: row.available_version,
    origin: row.origin,
    security: row.security === 1,
    size_bytes: row.size_bytes,
    offers: offersOf(row.offers),
    change: row.change,
    recommended: (row.recommended & RECOMMENDED_HERE) !== 0,
    state: Value.Parse(UpdateState, row.state),
    state_reason: row.state_reason,
    out_of_band: row.out_of_band === 1,
    verdict: row.verdict === null ? null : Value.Parse(VulnerabilityVerdict, row.verdict),
    severity: row.severity,
    known_exploited: yesOrNo(row.known_exploited),
    epss: row.epss,
    introduces: row.introduces,
    stays: row.stays,
    fixes: row.fixes,
    fixes_severity: row.fixes_severity,
    fixes_exploited: yesOrNo(row.fixes_exploited),
    has_plan: row.plan_id !== null,
    siblings: row.siblings,
    rollback_of: row.rollback_of,
    not_before: row.not_before === null ? null : rfc3339(row.not_before),
    discovered_at: rfc3339(row.discovered_at),
    updated_at: rfc3339(row.updated_at),
  };
}

export function siblingView({ arch, state, ...row }: SiblingRow): Sibling {
  return { ...row, arch: arch === '' ? null : arch, state: Value.Parse(UpdateState, state) };
}

function yesOrNo(flag: number | null): boolean | null {
  return flag === null ? null : flag === 1;
}

export function planView(plan: StoredPlan): UpdatePlan {
  return {
    id: plan.id,
    resolved_at: rfc3339(plan.resolvedAtMs),
    received_at: rfc3339(plan.receivedAtMs),
    plan_sha256: plan.planSha256,
    actions: plan.actions,
  };
}

export function historyView(row: HistoryRow): UpdateHistoryEntry {
  const { from_state, to_state, reason, actor } = row;
  return { at: rfc3339(row.at), from_state, to_state, reason, actor };
}

export function packageItem(row: PackageRow, held: HeldBack): PackageItem {
  return {
    id: `${row.ecosystem}/${row.name}`,
    ecosystem: Value.Parse(Ecosystem, row.ecosystem),
    name: row.name,
    hosts: row.hosts,
    updates: row.updates,
    available_versions: row.availableVersions,
    newest_update_at: rfc3339(row.newestUpdateAtMs),
    security: row.security,
    severity: row.severity,
    known_exploited: row.knownExploited,
    ...{ fixes: row.fixed.fixes, fixes_severity: row.fixed.severity, fixes_exploited: row.fixed.exploited },
    states: row.states,
    held_updates: held,
  };
}

export function updatedHost({ agent, counts }: ListedHost): UpdatedHost {
  return {
    agent_id: agent.id,
    hostname: agent.hostname,
    group: agent.group_name,
    reboot: agent.reboot_need ?? 'unknown',
    updates: counts.pending,
    exploited_fixes: counts.exploited,
    critical_fixes: counts.critical,
    high_fixes: counts.high,
    fixes: counts.fixing,
    unjudged: counts.pending - counts.judged,
  };
}
