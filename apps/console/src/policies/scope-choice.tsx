import { faultUnder } from '../api/field-faults.ts';
import { Select } from '../ui/field.tsx';
import type { FieldsProps } from './draft-rules.ts';
import { SomeHosts } from './some-hosts.tsx';

/** The hosts of a policy: all, or groups, tags and single hosts. */
export function ScopeChoice({ draft: { kind, groups, hosts, tags }, error, onChange }: FieldsProps) {
  return (
    <>
      <Select
        label="Hosts"
        value={kind}
        error={faultUnder(error, '/scope')}
        onChange={({ target: { value } }) => onChange({ kind: value === 'some' ? 'some' : 'all' })}
      >
        <option value="all">all hosts</option>
        <option value="some">only some groups, tags or hosts</option>
      </Select>
      {kind === 'some' && (
        <div className="space-y-3 border-l-2 border-line pl-3">
          <SomeHosts {...{ groups, hosts, tags, onChange }} />
        </div>
      )}
    </>
  );
}
