import type { EvidenceScope } from '@tidegate/protocol/evidence-api';
import { rfc3339Day } from '../platform/clock.ts';
import type { Span } from './store.ts';

/** A file name that says whose evidence it is; names that others chose are reduced to safe characters. */
export function bundleName(scope: EvidenceScope, { sinceMs, untilMs }: Span): string {
  const days = [sinceMs, untilMs].map(rfc3339Day).join('-to-');
  return `evidence-${whoseOf(scope)}-${days}.tar`;
}

function whoseOf(scope: EvidenceScope): string {
  switch (scope.kind) {
    case 'host':
      return `host-${scope.agent_id.slice(0, 8)}`;
    case 'group':
      return `group-${scope.group.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64)}`;
    case 'groups':
    case 'fleet':
      return scope.kind;
  }
}
