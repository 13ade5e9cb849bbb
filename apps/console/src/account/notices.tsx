import { useQuery } from '@tanstack/react-query';
import type { Notice } from '@tidegate/protocol/notices-api';
import { useState } from 'react';
import { post } from '../api/client.ts';
import { listQuery, queryClient } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Panel } from '../ui/page.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { attempt } from '../ui/toasts.tsx';
import { noticeOrigin, noticeText } from './notice-rules.ts';

const PATH = '/api/v1/auth/notices';
const SHOWN_AT_FIRST = 8;

/** Changes to the operator's access, so that a factor added by someone else is noticed. */
export function Notices() {
  const { session } = useSession();
  const { data, error, refetch } = useQuery(listQuery<Notice>('session', PATH));
  const items = data?.items ?? [];
  const newest = items[0];
  const hasNew = items.some(({ is_new }) => is_new);
  const [isWhole, setIsWhole] = useState(false);
  const shown = isWhole ? items : items.slice(0, SHOWN_AT_FIRST);
  const markSeen = async (until: string) => {
    await post(`${PATH}/seen`, { until });
    await queryClient.invalidateQueries({ queryKey: ['session'] });
  };
  return (
    <Panel
      title="Changes to your access"
      aside={
        newest &&
        hasNew && <Button onClick={() => void attempt(() => markSeen(newest.id))}>Mark all as seen</Button>
      }
    >
      {error && <ErrorPanel error={error} retry={() => void refetch()} />}
      {!data && !error && <Skeleton rows={2} />}
      {data && newest === undefined && (
        <p className="text-muted">
          Nothing has changed yet. New factors, passwords, ended sessions and API tokens are listed here.
        </p>
      )}
      {newest !== undefined && (
        <ul className="divide-y divide-line">
          {shown.map((notice) => (
            <li key={notice.id} className="flex flex-wrap items-baseline gap-x-2 py-2">
              {notice.is_new && <Badge tone="warn">new</Badge>}
              <span className="font-medium break-words">{noticeText(notice)}</span>
              <span className="break-words text-muted">
                {noticeOrigin(notice, session?.operator.username ?? null)}, <Time at={notice.at} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {shown.length < items.length && (
        <Button tone="quiet" onClick={() => setIsWhole(true)}>
          Show all {items.length}
        </Button>
      )}
      {hasNew && (
        <p className="pt-2 text-muted">
          Was this not you? Change your password, remove anything you do not recognise, and tell an admin.
        </p>
      )}
    </Panel>
  );
}
