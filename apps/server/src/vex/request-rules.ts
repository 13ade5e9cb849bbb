import type { VexStatementRequest } from '@tidegate/protocol/vex-api';
import type { TLocalizedValidationError } from 'typebox/error';
import { namesDistribution } from './statement-rules.ts';

/** Every statement ends; longest life in milliseconds. */
export const LIFETIME_MAX_MS = 365 * 24 * 3_600_000;

export interface Fault {
  readonly path: string;
  readonly message: string;
}

/** The first error of a schema as a fault below `at`, with the values that are allowed. */
export function schemaFault(
  errors: readonly TLocalizedValidationError[],
  { at, otherwise }: { at: string; otherwise: string },
): Fault {
  const [first] = errors;
  if (!first) return { path: at, message: otherwise };
  const allowed =
    first.keyword === 'enum'
      ? first.params.allowedValues
      : first.keyword === 'const'
        ? [first.params.allowedValue]
        : null;
  const message = allowed ? `must be ${allowed.join(' or ')}` : first.message;
  return { path: `${at}${first.instancePath}`, message };
}

/** What is wrong with a statement of the right form; null if nothing is. */
export function requestFault(request: VexStatementRequest, nowMs: number): Fault | null {
  const { ecosystem, distribution, status, justification } = request;
  if (namesDistribution(ecosystem) !== (distribution !== null)) {
    const message = namesDistribution(ecosystem)
      ? 'must name the distribution of an apt or dnf package, such as debian'
      : 'must be null for npm and PyPI';
    return { path: '/distribution', message };
  }
  if ((status === 'not_affected') !== (justification !== null)) {
    const message =
      status === 'accepted' ? 'must be null for accepted' : 'must say why the package is not affected';
    return { path: '/justification', message };
  }
  return endFault(request.ends_at, nowMs);
}

export function endFault(endsAt: string, nowMs: number): Fault | null {
  const endsAtMs = Date.parse(endsAt);
  if (endsAtMs > nowMs && endsAtMs <= nowMs + LIFETIME_MAX_MS) return null;
  return { path: '/ends_at', message: 'must be a time in the next 365 days' };
}

/** Equal for two statements that say the same. */
export function statementKey(request: VexStatementRequest): string {
  const { vulnerability, ecosystem, package: name, distribution, versions, scope } = request;
  const { status, justification, text, ends_at } = request;
  return JSON.stringify([
    ...[vulnerability, ecosystem, name, distribution, versions.toSorted(), Object.entries(scope).toSorted()],
    ...[status, justification, text, Date.parse(ends_at)],
  ]);
}
