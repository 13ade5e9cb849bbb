import { useQuery } from '@tanstack/react-query';
import { isolated } from '@tidegate/protocol/isolated';
import type { ChannelTest, NotificationChannel } from '@tidegate/protocol/notifications-api';
import { CircleCheck, CircleX } from 'lucide-react';
import { post } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog, DialogFooter, DialogPlace } from '../ui/dialog.tsx';
import { Facts } from '../ui/page.tsx';
import { ErrorPanel } from '../ui/states.tsx';
import { CHANNELS } from './channel-rules.ts';

/** Sends a test message when it opens, and says how it went. */
export function ChannelTestDialog({
  channel: { id, name },
  onChange,
  onClose,
}: {
  channel: NotificationChannel;
  /** Opens the settings of the channel. */
  onChange: () => void;
  onClose: () => void;
}) {
  const test = useQuery({
    queryKey: ['notification-test', id],
    queryFn: async () => {
      const result = await post<ChannelTest>(`${CHANNELS}/${id}/test`);
      await queryClient.invalidateQueries({ queryKey: ['notifications'] });
      return result;
    },
    // Each look sends a message: only a person asks for another.
    ...{ gcTime: 0, staleTime: Number.POSITIVE_INFINITY, retry: false },
    ...{ refetchInterval: false, refetchOnWindowFocus: false, refetchOnReconnect: false },
  });
  return (
    <Dialog title={`Test of ${isolated(name)}`} onClose={onClose}>
      <div className="space-y-4">
        <DialogPlace>
          <div role="status">
            {test.isFetching && <p>Sending a test message…</p>}
            {!test.isFetching && test.data && <TestResult result={test.data} />}
          </div>
          {!test.isFetching && test.error && <ErrorPanel error={test.error} retry={null} />}
        </DialogPlace>
        <DialogFooter>
          {test.data?.is_delivered === false && <Button onClick={onChange}>Change the channel</Button>}
          <Button busy={test.isFetching} onClick={() => void test.refetch()}>
            Send another
          </Button>
          <Button tone="primary" onClick={onClose}>
            Close
          </Button>
        </DialogFooter>
      </div>
    </Dialog>
  );
}

function TestResult({
  result: { is_delivered, explanation, answer, is_permanent },
}: {
  result: ChannelTest;
}) {
  return (
    <div className="space-y-3">
      <p>
        {is_delivered ? (
          <Badge tone="good" icon={<CircleCheck />}>
            delivered
          </Badge>
        ) : (
          <Badge tone="bad" icon={<CircleX />}>
            not delivered
          </Badge>
        )}
      </p>
      <p className="break-words">{explanation}</p>
      <Facts
        facts={[
          ...(is_delivered && answer !== null ? [['The receiver said', answer] as const] : []),
          ...(is_delivered
            ? []
            : [
                [
                  'Trying again',
                  is_permanent ? 'does not help before something is changed' : 'may help by itself',
                ] as const,
              ]),
        ]}
      />
    </div>
  );
}
