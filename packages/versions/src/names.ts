import type { Ecosystem } from './osv-ecosystems.ts';

/** The form under which two names are one package: PEP 503 for PyPI, the name as it stands elsewhere. */
export function canonicalName(ecosystem: Ecosystem, name: string): string {
  return ecosystem === 'pypi' ? name.toLowerCase().replace(/[-_.]+/g, '-') : name;
}
