import type { VexScope } from '@tidegate/protocol/vex-api';
import { useGroups } from '../hosts/groups.ts';
import { Select } from '../ui/field.tsx';

/** The hosts that a statement is about: all of them or one group. */
export function ScopeFields({
  scope,
  onChange,
  error,
}: {
  scope: VexScope;
  onChange: (scope: VexScope) => void;
  error?: string | undefined;
}) {
  const groups = useGroups();
  const chosen = scope.kind === 'group' ? scope.group : '';
  return (
    <Select
      label="Hosts"
      value={chosen}
      onChange={(e) =>
        onChange(e.target.value === '' ? { kind: 'all' } : { kind: 'group', group: e.target.value })
      }
      error={error}
    >
      <option value="">all hosts</option>
      {groups.map(({ name }) => (
        <option key={name} value={name}>
          the group {name}
        </option>
      ))}
    </Select>
  );
}
