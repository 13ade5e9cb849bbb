import type { HoldRequest } from '@tidegate/protocol/holds-api';
import type { PolicyScope } from '@tidegate/protocol/policies-api';
import { ECOSYSTEMS, type Ecosystem } from '@tidegate/protocol/scalars';
import { linesOf } from '../policies/draft-rules.ts';
import { endOfDay } from '../ui/day-rules.ts';

/** What the forms of holds and blackouts offer. */
export type HostScope =
  | { readonly kind: 'all' }
  | { readonly kind: 'group'; readonly group: string }
  | { readonly kind: 'tag'; readonly tag: string };

export const HOLDS = '/api/v1/holds';

/** What the form holds; `ecosystem` null: all of them. */
export interface HoldForm {
  readonly packages: string;
  readonly ecosystem: Ecosystem | null;
  readonly scope: HostScope;
  readonly reason: string;
  /** A UTC day. */
  readonly endsOn: string;
}

export function requestOf({ packages, ecosystem, scope, reason, endsOn }: HoldForm): HoldRequest {
  return {
    ecosystems: ecosystem === null ? [...ECOSYSTEMS] : [ecosystem],
    // Commas separate names as well.
    packages: linesOf(packages.replaceAll(',', '\n')),
    scope: hostsOf(scope),
    reason: reason.trim(),
    ends_at: endOfDay(endsOn),
  };
}

/** The hosts that the fields of a form name, as policies, holds and blackouts name them. */
export function hostsOf(scope: HostScope): PolicyScope {
  switch (scope.kind) {
    case 'all':
      return { kind: 'all' };
    case 'group':
      return { kind: 'some', groups: [scope.group], hosts: [] };
    case 'tag':
      return { kind: 'some', groups: [], hosts: [], tags: [scope.tag] };
  }
}
