import { useQuery } from '@tanstack/react-query';
import { isolated } from '@tidegate/protocol/isolated';
import type { DeliveryDetail } from '@tidegate/protocol/notifications-api';
import { RotateCcw } from 'lucide-react';
import { oneQuery } from '../api/queries.ts';
import { EventSeverityBadge } from '../events/event-badges.tsx';
import { Button } from '../ui/button.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { Dialog, DialogFooter } from '../ui/dialog.tsx';
import { Facts } from '../ui/page.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { attempt } from '../ui/toasts.tsx';
import { DeliveryState } from './delivery-state.tsx';
import { DELIVERIES, isResendable, KIND_WORDS } from './delivery-words.ts';

/** One message: its text, and each attempt with what the receiver said. */
export function DeliveryDialog({
  id,
  onResend,
  onClose,
}: {
  id: string;
  onResend: (id: string) => Promise<void>;
  onClose: () => void;
}) {
  const { data, error, isPending, refetch } = useQuery(
    oneQuery<DeliveryDetail>('notifications', `${DELIVERIES}/${id}`),
  );
  return (
    <Dialog title={data?.subject ?? 'Delivery'} wide onClose={onClose}>
      {error && <ErrorPanel error={error} retry={() => void refetch()} />}
      {isPending && !error && <Skeleton />}
      {data && (
        <div className="space-y-5">
          <Facts facts={factsOf(data)} />
          <Attempts tries={data.tries} />
          <Text delivery={data} />
          <DialogFooter>
            {isResendable(data) && (
              <Button
                icon={<RotateCcw aria-hidden="true" className="size-4" />}
                onClick={() => void attempt(() => onResend(id))}
              >
                Send again
              </Button>
            )}
            <Button tone="primary" onClick={onClose}>
              Close
            </Button>
          </DialogFooter>
        </div>
      )}
    </Dialog>
  );
}

function factsOf(delivery: DeliveryDetail) {
  const { next_attempt_at: next } = delivery;
  return [
    ['State', <DeliveryState key="state" state={delivery.state} />],
    ['Channel', delivery.channel_name],
    [
      'Sent by',
      delivery.rule_name ? `the rule ${isolated(delivery.rule_name)}` : `a ${KIND_WORDS[delivery.kind]}`,
    ],
    ['Severity', <EventSeverityBadge key="severity" severity={delivery.severity} />],
    ['Created', <Time key="created" at={delivery.created_at} />],
    ...(next === null ? [] : [['Next attempt', <Time key="next" at={next} />] as const]),
    ['Id for the receiver', <CopyText key="id" text={delivery.id} label="Copy the id" />],
  ] as const;
}

function Attempts({ tries }: Pick<DeliveryDetail, 'tries'>) {
  return (
    <section aria-labelledby="attempts" className="space-y-2">
      <h3 id="attempts" className="font-semibold">
        Attempts
      </h3>
      {tries.length === 0 && <p className="text-muted">None yet.</p>}
      <ol className="space-y-2">
        {tries.map(({ at, is_delivered, reason, answer }) => (
          <li key={at} className="rounded-md border border-line px-3 py-2">
            <p className="break-words">
              <Time at={at} />: {is_delivered ? 'delivered' : reason}
            </p>
            {is_delivered && answer && <p className="mono break-words text-muted">{answer}</p>}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** What hosts are named is shown as text, like everywhere. */
function Text({ delivery: { summary, sections, link } }: { delivery: DeliveryDetail }) {
  return (
    <section aria-labelledby="message" className="space-y-2">
      <h3 id="message" className="font-semibold">
        Message
      </h3>
      <p className="break-words whitespace-pre-line">{summary}</p>
      {sections.map(({ title, items }) => (
        <div key={title}>
          <h4 className="font-medium">{title}</h4>
          <ul className="list-disc pl-5">
            {items.map(({ text }) => (
              <li key={text} className="break-words">
                {text}
              </li>
            ))}
          </ul>
        </div>
      ))}
      {link && <a href={link}>Open what it speaks of</a>}
    </section>
  );
}
