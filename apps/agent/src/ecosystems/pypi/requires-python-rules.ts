import { compareVersions } from '@tidegate/versions';

const CLAUSES_MAX = 32;
const CLAUSE = /^(~=|===|==|!=|<=|>=|<|>)\s*([0-9A-Za-z.!+_-]+)(\.\*)?$/;

/**
 * Whether a Python of this version may use a file (PEP 345 `Requires-Python`, PEP 440 specifiers). An invalid
 * specifier excludes nothing, as in pip: the resolver decides when planning.
 */
export function allowsPython(specifier: string, pythonVersion: string): boolean {
  const clauses = specifier.split(',').map((clause) => clause.trim());
  if (clauses.length > CLAUSES_MAX) return true;
  return clauses.every((clause) => clause === '' || allows(clause, pythonVersion));
}

function allows(clause: string, python: string): boolean {
  const [, operator = '', version = '', wildcard] = CLAUSE.exec(clause) ?? [];
  if (operator === '') return true;
  if (wildcard !== undefined) return (operator === '!=') !== startsWith(python, version);
  const order = compareVersions('pypi', python, version);
  if (order === 'undecidable') return true;
  switch (operator) {
    case '>=':
      return order >= 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    case '<':
      return order < 0;
    case '!=':
      return order !== 0;
    case '~=':
      return order >= 0 && startsWith(python, version.split('.').slice(0, -1).join('.'));
    default:
      return order === 0;
  }
}

/** `==3.7.*`: the release starts with these numbers. */
function startsWith(version: string, prefix: string): boolean {
  const [parts, wanted] = [version.split('.'), prefix.split('.')];
  return wanted.every((part, at) => compareVersions('pypi', parts[at] ?? '0', part) === 0);
}
