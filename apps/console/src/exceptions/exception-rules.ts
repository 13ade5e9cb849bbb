import type { AgeExceptionRequest } from '@tidegate/protocol/approvals-api';

export const EXCEPTIONS = '/api/v1/admin/age-exceptions';

type Aged = AgeExceptionRequest['ecosystem'];

/** The ecosystems that have release times. */
export const AGED: Readonly<Record<Aged, string>> = { npm: 'npm', pypi: 'PyPI' };

export type Prefill = Pick<AgeExceptionRequest, 'ecosystem' | 'name' | 'version'>;

/** The package and version that a link proposes for an exception; null unless it names both. */
export function prefillOf(search: Readonly<Record<string, unknown>>): Prefill | null {
  const { ecosystem, name, version } = search;
  if (typeof name !== 'string' || typeof version !== 'string' || name === '' || version === '') return null;
  return { ecosystem: ecosystem === 'pypi' ? 'pypi' : 'npm', name, version };
}
