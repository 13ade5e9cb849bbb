import { useQueries } from '@tanstack/react-query';
import type { AgentItem } from '@tidegate/protocol/agents-api';
import type { Operator } from '@tidegate/protocol/operators-api';
import type { PackageItem } from '@tidegate/protocol/updates-api';
import type { VulnerabilityItem } from '@tidegate/protocol/vulnerabilities-api';
import { useEffect, useState } from 'react';
import { get, type Page, type Query, search } from '../api/client.ts';
import type { Topic } from '../api/live.ts';
import { useSession } from '../api/session.ts';
import type { Recent } from './recents.ts';

/** Long enough to skip the letters of a word, short enough to feel immediate. */
const PAUSE_MS = 60;
const EACH = 5;
/** Parts of names, as the lists allow them. */
const TEXT_MAX_CHARS = 128;

export interface Found {
  readonly found: readonly (Recent & { readonly href: string })[];
  /** What to say while nothing is found; null: that there is nothing. */
  readonly says: string | null;
}

/** Asks the lists for the text once typing pauses; a newer text aborts the older requests. */
export function useFound(text: string): Found {
  const { may, groups } = useSession();
  const wanted = text.trim().slice(0, TEXT_MAX_CHARS);
  const q = usePaused(wanted);
  const isOn = q.length > 1;
  const seesOperators = may('admin') && groups === null;
  const answers = useQueries({
    queries: [
      asked('hosts', '/api/v1/agents', { q, limit: EACH }, isOn, hostOf),
      asked('updates', '/api/v1/packages', { q, limit: EACH }, isOn, packageOf),
      asked('advisories', '/api/v1/vulnerabilities', { q, limit: EACH }, isOn, vulnerabilityOf),
      asked('operators', '/api/v1/admin/operators', { limit: 100 }, isOn && seesOperators, operatorOf),
    ],
    combine: (results) => ({
      found: results.flatMap(({ data }) => data ?? []),
      isBusy: results.some(({ isFetching, data }) => isFetching && !data),
      isFailed: results.some(({ isError }) => isError),
    }),
  });
  const lower = q.toLowerCase();
  const found = isOn
    ? answers.found.filter(({ group, label }) => group !== 'Operators' || label.toLowerCase().includes(lower))
    : [];
  const isBusy = q !== wanted || answers.isBusy;
  return { found, says: isBusy ? 'Searching…' : answers.isFailed ? 'The search failed. Try again.' : null };
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
  ...{ id: `package ${id}`, group: 'Packages', label: `${name} (${ecosystem})` },
  href: `/updates${search({ ecosystem, name })}`,
});

const vulnerabilityOf = ({ id, summary }: VulnerabilityItem): Entry => ({
  ...{ id: `vulnerability ${id}`, group: 'Vulnerabilities', label: summary ? `${id}: ${summary}` : id },
  href: `/vulnerabilities/${encodeURIComponent(id)}`,
});

const operatorOf = ({ id, username }: Operator): Entry => ({
  ...{ id: `operator ${id}`, group: 'Operators', label: username, href: '/operators' },
});

function usePaused(text: string): string {
  const [paused, setPaused] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return paused;
}
