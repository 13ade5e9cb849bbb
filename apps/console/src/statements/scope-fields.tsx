import { isolated } from '@tidegate/protocol/isolated';
import type { VexScope } from '@tidegate/protocol/vex-api';
import { useGroups } from '../hosts/groups.ts';
import { Select } from '../ui/field.tsx';
import type { Prefill } from './statement-rules.ts';

/** Values of the choices; the name of a group follows. */
const HOST = 'host:';
const GROUP = 'group:';

/** The hosts that a statement is about: all of them, one group, or the host on which the finding was seen. */
export function ScopeFields({
  scope,
  host = null,
  onChange,
  error,
}: {
  scope: VexScope;
  host?: Prefill['host'];
  onChange: (scope: VexScope) => void;
  error?: string | undefined;
}) {
  const groups = useGroups();
  const chosen = { all: '', group: `${GROUP}${scope.kind === 'group' ? scope.group : ''}`, host: HOST }[
    scope.kind
  ];
  return (
    <Select
      label="Hosts"
      value={chosen}
      onChange={({ target: { value } }) => {
        if (value.startsWith(GROUP)) onChange({ kind: 'group', group: value.slice(GROUP.length) });
        else onChange(value === HOST && host ? { kind: 'host', agent_id: host.id } : { kind: 'all' });
      }}
      error={error}
    >
      <option value="">all hosts</option>
      {host && <option value={HOST}>only {isolated(host.hostname)}</option>}
      {groups.map(({ name }) => (
        <option key={name} value={`${GROUP}${name}`}>
          the group {isolated(name)}
        </option>
      ))}
    </Select>
  );
}
