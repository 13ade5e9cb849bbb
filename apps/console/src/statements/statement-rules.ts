import { isolated } from '@tidegate/protocol/isolated';
import type { VexFormat, VexJustification, VexScope, VexStatementRequest } from '@tidegate/protocol/vex-api';
import { MANAGERS } from '../hosts/package-managers.ts';

export const STATEMENTS = '/api/v1/admin/vex-statements';
export const DOCUMENT = '/api/v1/admin/vex-document';

/** Proposed life of a statement. */
export const DAYS = 90;

/** Why a package is not affected, in words; the keys are those of OpenVEX. */
export const JUSTIFICATIONS: Readonly<Record<VexJustification, string>> = {
  component_not_present: 'the component is not part of the package',
  vulnerable_code_not_present: 'the vulnerable code is not in the package',
  vulnerable_code_not_in_execute_path: 'the vulnerable code never runs',
  vulnerable_code_cannot_be_controlled_by_adversary: 'an attacker cannot reach the vulnerable code',
  inline_mitigations_already_exist: 'built-in protection prevents the exploit',
};

export const STATUSES: Readonly<Record<VexStatementRequest['status'], string>> = {
  not_affected: 'not affected',
  accepted: 'risk accepted',
};

export const FORMATS: Readonly<Record<VexFormat, string>> = { openvex: 'OpenVEX', cyclonedx: 'CycloneDX' };

/** The value of a select, as one of the keys of its words. */
export function keyOf<K extends string>(words: Readonly<Record<K, string>>, value: string, otherwise: K): K {
  return isKey(words, value) ? value : otherwise;
}

function isKey<K extends string>(words: Readonly<Record<K, string>>, value: string): value is K {
  return Object.hasOwn(words, value);
}

/** apt and dnf packages are those of a distribution. */
export function namesDistribution(ecosystem: VexStatementRequest['ecosystem']): boolean {
  return ecosystem === 'apt' || ecosystem === 'dnf';
}

/** What a link proposes for a statement. */
export interface Prefill {
  readonly vulnerability: string;
  readonly ecosystem: VexStatementRequest['ecosystem'];
  readonly name: string;
  readonly version: string;
  readonly distribution: string;
  /** The host on which it was found; a statement may be about that host alone. */
  readonly host: { readonly id: string; readonly hostname: string } | null;
}

/** What the address proposes; null unless it names a vulnerability and a package. */
export function prefillOf(search: Readonly<Record<string, unknown>>): Prefill | null {
  const text = (name: string) => {
    const value = search[name];
    return typeof value === 'string' || typeof value === 'number' ? `${value}` : '';
  };
  const [vulnerability, name] = [text('vulnerability'), text('package')];
  if (vulnerability === '' || name === '') return null;
  const ecosystem = keyOf(MANAGERS, text('ecosystem'), 'apt');
  const [id, hostname] = [text('agent_id'), text('hostname')];
  const host = id === '' || hostname === '' ? null : { id, hostname };
  return {
    vulnerability,
    ecosystem,
    name,
    version: text('version'),
    distribution: text('distribution'),
    host,
  };
}

/** Versions, one in a line or separated by commas or spaces; none has any of these. */
export function versionsOf(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((version) => version !== ''))];
}

/** `all hosts`, `the group web`, `one host`. */
export function scopeText(scope: VexScope): string {
  switch (scope.kind) {
    case 'all':
      return 'all hosts';
    case 'group':
      return `the group ${isolated(scope.group)}`;
    case 'host':
      return 'one host';
  }
}
