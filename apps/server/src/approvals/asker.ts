import type { PolicyReference } from '@tidegate/protocol/policies-api';
import type { GroupScope } from '../platform/db/group-scope.ts';
import type { WindowEnd } from '../policies/policy-windows.ts';
import type { ApprovalRequest, UpdateFacts } from './gate-facts.ts';
import type { LoadedSet } from './load-update.ts';

/** Whoever asks for the approval of many updates: in whose name, where, and by which request the gate judges each set. */
export interface Asker {
  /** The operator who is accountable. */
  readonly operator: string;
  /** The acting party: that operator, or `policy`. */
  readonly actor: string;
  readonly via: 'bulk' | 'policy';
  /** The policy that asks; null: the operator does, and the request has an event of its own. */
  readonly policy: PolicyReference | null;
  readonly scope: GroupScope;
  /** The end of the window in which hosts may begin; null: as long as a token lives. */
  readonly until: WindowEnd | null;
  readonly requestOf: (loaded: LoadedSet, facts: UpdateFacts) => ApprovalRequest | Promise<ApprovalRequest>;
}

/** A6: a bulk request has no override, and no field that could become one. */
const PLAIN: ApprovalRequest = { by: 'operator', override: false, overrideReason: null };

/** An operator with a bulk request. */
export function operatorAsks({ operator, scope }: Pick<Asker, 'operator' | 'scope'>): Asker {
  return {
    ...{ operator, scope, actor: operator, via: 'bulk', policy: null, until: null },
    requestOf: () => PLAIN,
  };
}
