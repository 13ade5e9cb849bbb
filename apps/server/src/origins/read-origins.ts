import { OriginRule } from '@tidegate/protocol/origins-api';
import type { PlanAction } from '@tidegate/protocol/plan';
import { Ecosystem, KeyFingerprint } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { ClosurePackage } from '../advisories/closure-packages.ts';
import { identityKey, sightingsOf } from '../artifacts/identity-rules.ts';
import { type Ledger, readLedger } from '../artifacts/ledger.ts';
import type { Db } from '../platform/db/engine.ts';
import {
  type FileClaims,
  isThirdParty,
  type OriginFacts,
  originFact,
  type Registration,
  registrationFor,
} from './origin-rules.ts';
import { type OriginRow, originsInForce } from './store.ts';

export interface OriginPlan {
  readonly agentId: string;
  readonly ecosystem: Ecosystem;
  readonly osId: string;
  readonly osArch: string;
  readonly actions: readonly PlanAction[];
  readonly packages: readonly ClosurePackage[];
}

/**
 * The third parties' packages of each plan, in the given order, with the registrations that apply now. Without such
 * packages nothing is read; the ledger is read once for all files that a registration is about.
 */
export async function readOriginFacts(
  db: Db,
  plans: readonly OriginPlan[],
  nowMs: number,
): Promise<OriginFacts[]> {
  const foreign = plans.map(({ ecosystem, osId, actions }) =>
    actions.filter((action) => isThirdParty(ecosystem, osId, action)),
  );
  if (foreign.every((some) => some.length === 0)) return plans.map(() => ({ items: [], uncovered: 0 }));
  const registered = (await originsInForce(db, nowMs)).map(registrationOf);
  const found = plans.map((plan, i) =>
    (foreign[i] ?? []).map((action) => {
      const registration = registrationFor(plan.ecosystem, action, registered);
      const host = { osId: plan.osId, osArch: plan.osArch };
      const files = sightingsOf({ ecosystem: plan.ecosystem, host, actions: [action] });
      return { action, registration, files };
    }),
  );
  const asked = found.flat().flatMap(({ registration, files }) => (registration ? files : []));
  const ledger = asked.length > 0 ? await readLedger(db, asked) : new Map();
  return plans.map(({ agentId, ecosystem, packages }, i) => ({
    uncovered: packages.filter(({ after }) => after.reason === 'uncovered').length,
    items: (found[i] ?? []).map(({ action, registration, files }) =>
      originFact(ecosystem, action, { registration, claims: claimsOf(ledger, files, agentId), nowMs }),
    ),
  }));
}

/** The file is as old as its youngest hash, and only what other hosts say can dispute its origin. */
function claimsOf(ledger: Ledger, files: ReturnType<typeof sightingsOf>, agentId: string): FileClaims {
  const told = files.map((file) => ledger.get(identityKey(file))?.get(file.hash) ?? []);
  const oldest = told.map((rows) => (rows.length > 0 ? Math.min(...rows.map((row) => row.seen_at)) : null));
  const known = oldest.flatMap((atMs) => atMs ?? []);
  return {
    firstSeenAtMs: known.length === files.length && known.length > 0 ? Math.max(...known) : null,
    origins: told.flat().flatMap((row) => (row.agent_id === agentId ? [] : (row.origin ?? []))),
  };
}

const Suites = Type.Array(Type.String());

export function registrationOf(row: OriginRow): Registration {
  return {
    id: row.id,
    sha256: row.sha256,
    ecosystem: Value.Parse(Ecosystem, row.ecosystem),
    key: Value.Parse(KeyFingerprint, row.signing_key),
    suites: Value.Parse(Suites, JSON.parse(row.suites)),
    rule: Value.Parse(OriginRule, row.rule),
    minAgeDays: row.min_age_days,
    reason: row.reason,
    endsAtMs: row.ends_at,
  };
}
