import type { VexScope } from '@tidegate/protocol/vex-api';
import { dayFrom } from '../exceptions/exception-rules.ts';
import { useGroups } from '../hosts/groups.ts';
import { Field, Select } from '../ui/field.tsx';
import { useNow } from '../ui/time.tsx';

const DAYS = 90;
const DAYS_MAX = 364;

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

/** The last day of a statement. */
export function EndsOn({ error }: { error?: string | undefined }) {
  const now = useNow();
  return (
    <Field
      label="In force until"
      name="ends_on"
      type="date"
      required
      min={dayFrom(now, 0)}
      max={dayFrom(now, DAYS_MAX)}
      defaultValue={dayFrom(now, DAYS)}
      hint="A day in UTC, at most a year from now."
      error={error}
    />
  );
}
