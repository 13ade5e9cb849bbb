import { isolated } from '@tidegate/protocol/isolated';
import { useGroups } from '../hosts/groups.ts';
import { useScopeTags } from '../hosts/tags.ts';
import { Select } from '../ui/field.tsx';
import type { HostScope } from './hold-rules.ts';

/** Values of the choices; the name of the group or tag follows. */
const GROUP = 'group:';
const TAG = 'tag:';

/** The hosts of a hold or blackout: all of them, one group, or those with a tag. */
export function ScopeSelect({
  scope,
  onChange,
  error,
}: {
  scope: HostScope;
  onChange: (scope: HostScope) => void;
  error?: string | undefined;
}) {
  const groups = useGroups();
  const tags = useScopeTags();
  return (
    <Select
      label="Hosts"
      value={choiceOf(scope)}
      onChange={({ target: { value } }) => {
        if (value.startsWith(GROUP)) onChange({ kind: 'group', group: value.slice(GROUP.length) });
        else if (value.startsWith(TAG)) onChange({ kind: 'tag', tag: value.slice(TAG.length) });
        else onChange({ kind: 'all' });
      }}
      error={error}
    >
      <option value="">all hosts</option>
      {groups.map(({ name }) => (
        <option key={name} value={`${GROUP}${name}`}>
          the group {isolated(name)}
        </option>
      ))}
      {tags.map((tag) => (
        <option key={tag} value={`${TAG}${tag}`}>
          the tag {isolated(tag)}
        </option>
      ))}
    </Select>
  );
}

function choiceOf(scope: HostScope): string {
  switch (scope.kind) {
    case 'all':
      return '';
    case 'group':
      return `${GROUP}${scope.group}`;
    case 'tag':
      return `${TAG}${scope.tag}`;
  }
}
