import { useQueries } from '@tanstack/react-query';
import type { AgentItem } from '@tidegate/protocol/agents-api';
import { isolated } from '@tidegate/protocol/isolated';
import type { Operator } from '@tidegate/protocol/operators-api';
import type { PackageItem } from '@tidegate/protocol/updates-api';
import type { VulnerabilityItem } from '@tidegate/protocol/vulnerabilities-api';
import { useEffect, useRef, useState } from 'react';
import { get, type Page, type Query, search } from '../api/client.ts';
import type { Topic } from '../api/live.ts';
import { useSession } from '../api/session.ts';
import { MANAGERS } from '../hosts/package-managers.ts';
import type { Recent } from './recents.ts';

/** Long enough to skip the letters of a fast typist; with the answers it stays below 100 ms. */
const PAUSE_MS = 40;
const EACH = 5;
/** Parts of names, as the lists allow them. */
const TEXT_MAX_CHARS = 128;

export interface Found {
  readonly found: readonly (Recent & { readonly href: string })[];
  /** What to say while nothing is found; null: that there is nothing. */
  readonly says: string | null;
}

/**
 * Asks the lists for the text once typing pauses; a newer text aborts the older requests. Until they answer, what was found
 * for the older text stays where it still fits.
 */
export function useFound(text: string): Found {
  const { may, groups } = useSession();
  const wanted = text.trim().slice(0, TEXT_MAX_CHARS);
  const q = usePaused(wanted);
  const isOn = q.length > 1;
  const seesOperators = may('admin') && groups === null;
  const query = { q, limit: EACH };
  const { found, isBusy, isFailed } = useQueries({
    queries: [
      asked('hosts', '/api/v1/agents', query, isOn, hostOf),
      asked('updates', '/api/v1/packages', query, isOn, packageOf),
      asked('advisories', '/api/v1/vulnerabilities', query, isOn, (item: VulnerabilityItem) =>
        vulnerabilityOf(item, q),
      ),
      asked('operators', '/api/v1/admin/operators', query, isOn && seesOperators, operatorOf),
    ],
    combine: (results) => ({
      found: results.flatMap(({ data }) => data ?? []),
      isBusy: results.some(({ isFetching, data }) => isFetching && !data),
      isFailed: results.some(({ isError }) => isError),
    }),
  });
  const last = useRef<readonly Entry[]>([]);
  if (wanted.length < 2) return { found: [], says: null };
  if (q === wanted && !isBusy) {
    last.current = found;
    return { found, says: isFailed ? 'The search failed. Try again.' : null };
  }
  const here = q === wanted ? found : [];
  const fits = last.current.filter(
    (one) => containsText(one, wanted) && !here.some(({ id }) => id === one.id),
  );
  return { found: [...here, ...fits], says: 'Searching…' };
}

function containsText({ label }: Entry, text: string): boolean {
  return label.toLowerCase().includes(text.toLowerCase());
}

type Entry = Found['found'][number];

function asked<T>(topic: Topic, path: string, query: Query, enabled: boolean, entry: (item: T) => Entry) {
  return {
    queryKey: [topic, 'find', path, query],
    enabled,
    refetchInterval: false as const,
    queryFn: async ({ signal }: { signal: AbortSignal }) =>
      (await get<Page<T>>(path, { query, signal })).items.map(entry),
  };
}

const hostOf = ({ id, hostname }: AgentItem): Entry => ({
  ...{ id: `host ${id}`, group: 'Hosts', label: hostname, href: `/hosts/${id}` },
});

const packageOf = ({ id, ecosystem, name }: PackageItem): Entry => ({
  ...{ id: `package ${id}`, group: 'Packages', label: `${isolated(name)} (${MANAGERS[ecosystem]})` },
  href: `/updates${search({ ecosystem, name })}`,
});

/** With the alias that was asked for, which its own id does not show. */
function vulnerabilityOf({ id, names, summary }: VulnerabilityItem, text: string): Entry {
  const has = (name: string) => name.toLowerCase().includes(text.toLowerCase());
  const alias = has(id) ? undefined : names.find(has);
  const label = [id, alias && ` (${alias})`, summary && `: ${isolated(summary)}`].filter(Boolean).join('');
  return {
    ...{ id: `vulnerability ${id}`, group: 'Vulnerabilities', label },
    href: `/vulnerabilities/${encodeURIComponent(id)}`,
  };
}

const operatorOf = ({ id, username }: Operator): Entry => ({
  ...{ id: `operator ${id}`, group: 'Operators', label: username },
  href: `/operators${search({ q: username })}`,
});

function usePaused(text: string): string {
  const [paused, setPaused] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return paused;
}
