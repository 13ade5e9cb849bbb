import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { CommandItem } from '@tidegate/protocol/commands-api';
import type { KnownSince, PackageChange } from '@tidegate/protocol/package-history-api';
import { useState } from 'react';
import { get, type Page } from '../api/client.ts';
import { oneQuery } from '../api/queries.ts';
import type { EventItem } from '../events/event-item.ts';
import { joined, type Listed, type Sources } from './timeline-rules.ts';

/** The most that a list gives at once. */
const PAGE = 200;
const NONE = { items: [], next_cursor: null };

interface Changes extends Page<PackageChange> {
  readonly ecosystems: readonly KnownSince[];
}

interface Asked {
  readonly id: string;
  readonly since: string;
  /** A part of a package's name; undefined: everything. */
  readonly q: string | undefined;
}

type Loaded = { readonly [K in keyof Sources]?: Sources[K] };

/**
 * The lists that a timeline is made of. Their newest pages follow the server; what was loaded before them stays as it was, since it is
 * over, and is forgotten with the question.
 */
export function useSources({ id, since, q }: Asked) {
  const of = { agent_id: id, since, limit: PAGE };
  const asked = {
    changes: {
      path: `/api/v1/agents/${encodeURIComponent(id)}/inventory/changes`,
      query: { since, q, limit: PAGE },
    },
    events: { path: '/api/v1/events', query: of },
    commands: { path: '/api/v1/commands', query: of },
  };
  const placeholderData = keepPreviousData;
  // Under topics of what brings them, so that they follow it.
  const changes = useQuery({
    ...oneQuery<Changes>('updates', asked.changes.path, asked.changes.query),
    placeholderData,
  });
  const events = useQuery({
    ...oneQuery<Page<EventItem>>('events', asked.events.path, asked.events.query),
    placeholderData,
  });
  const commands = useQuery({
    ...oneQuery<Page<CommandItem>>('commands', asked.commands.path, asked.commands.query),
    placeholderData,
  });
  const question = JSON.stringify([id, since, q]);
  const [kept, setKept] = useState<{ question: string; loaded: Loaded }>({ question, loaded: {} });
  const loaded = kept.question === question ? kept.loaded : {};

  const queries = [changes, events, commands];
  const failed = queries.find(({ error }) => error !== null) ?? null;
  const sources: Sources | null =
    changes.data && events.data && commands.data
      ? {
          changes: joined(changes.data, loaded.changes ?? null, ({ position }) => position),
          events: q === undefined ? joined(events.data, loaded.events ?? null, ({ id: one }) => one) : NONE,
          commands:
            q === undefined ? joined(commands.data, loaded.commands ?? null, ({ id: one }) => one) : NONE,
        }
      : null;

  /** Loads the next page of these lists. */
  async function loadOlder(names: readonly (keyof Sources)[]): Promise<void> {
    if (sources === null) return;
    const next = <T>(name: keyof Sources, list: Listed<T>) =>
      names.includes(name) ? pageAfter(list, asked[name]) : undefined;
    const [olderChanges, olderEvents, olderCommands] = await Promise.all([
      next('changes', sources.changes),
      next('events', sources.events),
      next('commands', sources.commands),
    ]);
    const more: Loaded = {
      ...(olderChanges && { changes: olderChanges }),
      ...(olderEvents && { events: olderEvents }),
      ...(olderCommands && { commands: olderCommands }),
    };
    setKept((before) => ({
      question,
      loaded: { ...(before.question === question ? before.loaded : {}), ...more },
    }));
  }

  return {
    failed,
    sources,
    loadOlder,
    isReported: (changes.data?.ecosystems.length ?? 0) > 0,
    /** The answers are still those to another question. */
    isStale: queries.some(({ isPlaceholderData }) => isPlaceholderData),
  };
}

async function pageAfter<T>(
  list: Listed<T>,
  { path, query }: { path: string; query: Record<string, string | number | undefined> },
): Promise<Listed<T>> {
  const { items, next_cursor } = await get<Page<T>>(path, {
    query: { ...query, cursor: list.next_cursor },
  });
  return { items: [...list.items, ...items], next_cursor };
}
