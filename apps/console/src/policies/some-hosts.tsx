import { useQuery } from '@tanstack/react-query';
import type { AgentItem } from '@tidegate/protocol/agents-api';
import { isolated } from '@tidegate/protocol/isolated';
import { Plus, X } from 'lucide-react';
import { useId, useState } from 'react';
import { listQuery, oneQuery } from '../api/queries.ts';
import { useGroups } from '../hosts/groups.ts';
import { useScopeTags } from '../hosts/tags.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { CheckList } from '../ui/check-list.tsx';
import { SearchBox } from '../ui/search-box.tsx';

const AGENTS = '/api/v1/agents';
/** Hosts that a search offers. */
const FOUND_MAX = 8;

interface Chosen {
  readonly groups: readonly string[];
  readonly hosts: readonly string[];
  readonly tags: readonly string[];
}

/** Groups, tags and single hosts. */
export function SomeHosts({
  groups,
  hosts,
  tags,
  onChange,
}: Chosen & { onChange: (changes: Partial<Chosen>) => void }) {
  const known = useGroups().map(({ name }) => name);
  // A group without hosts is not listed, but a policy may name it.
  const names = [...new Set([...known, ...groups])];
  const tagNames = useScopeTags(tags);
  return (
    <>
      {names.length > 0 && (
        <CheckList
          legend="Groups"
          choices={names.map((name) => [name, name])}
          chosen={groups}
          onChange={(next) => onChange({ groups: next })}
          hint="With the hosts that join them later."
        />
      )}
      {tagNames.length > 0 && (
        <CheckList
          legend="Tags"
          choices={tagNames.map((tag) => [tag, tag])}
          chosen={tags}
          onChange={(next) => onChange({ tags: next })}
          hint="Hosts with any of them, also those that get it later."
        />
      )}
      <HostChoice hosts={hosts} onChange={(next) => onChange({ hosts: next })} />
    </>
  );
}

function HostChoice({
  hosts,
  onChange,
}: {
  hosts: readonly string[];
  onChange: (hosts: readonly string[]) => void;
}) {
  const [text, setText] = useState('');
  const headingId = useId();
  const query = { q: text, limit: FOUND_MAX };
  const { data } = useQuery({ ...listQuery<AgentItem>('hosts', AGENTS, query), enabled: text !== '' });
  const found = text === '' ? [] : (data?.items ?? []).filter(({ id }) => !hosts.includes(id));
  return (
    <fieldset className="space-y-2">
      <legend id={headingId} className="font-medium">
        Single hosts
      </legend>
      {hosts.length > 0 && (
        <ul aria-labelledby={headingId} className="flex flex-wrap gap-2">
          {hosts.map((id) => (
            <ChosenHost key={id} id={id} onRemove={() => onChange(hosts.filter((one) => one !== id))} />
          ))}
        </ul>
      )}
      <SearchBox label="Find a host" placeholder="name" maxLength={253} value={text} onSearch={setText} />
      {text !== '' && data && found.length === 0 && <p className="text-muted">No other host is found.</p>}
      <div className="flex flex-wrap gap-2">
        {found.map(({ id, hostname }) => (
          <Button
            key={id}
            wraps
            icon={<Plus aria-hidden="true" className="size-4" />}
            onClick={() => onChange([...hosts, id])}
          >
            Add <bdi>{hostname}</bdi>
          </Button>
        ))}
      </div>
    </fieldset>
  );
}

function ChosenHost({ id, onRemove }: { id: string; onRemove: () => void }) {
  const { data } = useQuery(oneQuery<AgentItem>('hosts', `${AGENTS}/${encodeURIComponent(id)}`));
  const name = data?.hostname ?? id;
  return (
    <li className="inline-flex items-center gap-1 rounded-md border border-line bg-sunken pl-2">
      <span className="break-all">{name}</span>
      <IconButton label={`Remove ${isolated(name)}`} onClick={onRemove}>
        <X aria-hidden="true" className="size-4" />
      </IconButton>
    </li>
  );
}
