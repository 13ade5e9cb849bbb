import type { MappingRule } from '@tidegate/protocol/identity-providers-api';
import { ROLES } from '@tidegate/protocol/states';
import { groupsOf } from './access-rules.ts';

/** One rule in a line: `group = role`, or `group = role: host group, host group`. */
export function mappingText(mapping: readonly MappingRule[]): string {
  return mapping
    .map(({ group, role, groups }) => `${group} = ${role}${groups === null ? '' : `: ${groups.join(', ')}`}`)
    .join('\n');
}

/** The rules of a text, or the first line that is none. Groups may contain `=`; roles do not. */
export function readMapping(
  text: string,
): { ok: true; mapping: readonly MappingRule[] } | { ok: false; line: string } {
  const mapping: MappingRule[] = [];
  for (const line of text.split('\n').map((one) => one.trim())) {
    if (line === '') continue;
    const [, group, word, rest] = /^(.*\S)\s*=\s*(\w+)\s*(?::(.*))?$/.exec(line) ?? [];
    const role = ROLES.find((one) => one === word);
    if (group === undefined || role === undefined) return { ok: false, line };
    const groups = groupsOf(rest ?? '');
    mapping.push({ group, role, groups: groups === null ? null : [...groups] });
  }
  return { ok: true, mapping };
}
