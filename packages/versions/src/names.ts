import type { Ecosystem } from './osv-ecosystems.ts';

/** The normalised package name: PEP 503 for PyPI, unchanged for the others. */
export function canonicalName(ecosystem: Ecosystem, name: string): string {
  return ecosystem === 'pypi' ? name.toLowerCase().replace(/[-_.]+/g, '-') : name;
}
