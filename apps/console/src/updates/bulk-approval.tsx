import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { BulkApproveAnswer } from '@tidegate/protocol/approvals-api';
import type { BulkProgress } from '@tidegate/protocol/bulk-api';
import type { UpdateItem } from '@tidegate/protocol/updates-api';
import { useEffect, useRef, useState } from 'react';
import { post } from '../api/client.ts';
import { oneQuery } from '../api/queries.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { toast } from '../ui/toasts.tsx';
import { BulkResult } from './bulk-result.tsx';
import { bulkBody, type Chosen, outcomeText, sizeOf, uuidOf } from './bulk-rules.ts';
import { counted } from './update-words.ts';

const PROGRESS_EVERY_MS = 500;

/** Asks once, shows how far the server is, then what came of it. */
export function BulkApproval({
  chosen,
  known,
  onClose,
  onDone,
}: {
  chosen: Chosen;
  /** The updates that were on screen, for their names. */
  known: ReadonlyMap<string, UpdateItem>;
  onClose: () => void;
  /** Called when the server has answered: what was selected is decided. */
  onDone: () => void;
}) {
  const client = useQueryClient();
  const isThere = useIsThere();
  const [progressId] = useState(() => uuidOf(crypto.getRandomValues(new Uint8Array(16))));
  const approval = useMutation({
    mutationFn: () => post<BulkApproveAnswer>('/api/v1/updates/approve', bulkBody(chosen, progressId)),
    onSuccess: (answer) => {
      onDone();
      if (!isThere.current) toast(`The bulk approval has ended: ${outcomeText(answer)}.`);
    },
    onSettled: () => client.invalidateQueries(),
  });
  const { data: answer, error, isPending } = approval;
  const count = sizeOf(chosen);
  return (
    <Dialog
      title={answer ? 'What came of it' : `Approve ${counted(count, 'update')}`}
      onClose={onClose}
      wide={!!answer}
    >
      {answer ? (
        <>
          <BulkResult answer={answer} known={known} />
          <div className="mt-4 flex justify-end">
            <Button autoFocus tone="primary" onClick={onClose}>
              Close
            </Button>
          </div>
        </>
      ) : (
        <form
          className="space-y-4"
          onSubmit={(event) => {
            event.preventDefault();
            approval.mutate();
          }}
        >
          <p>
            The gate judges each of them now. What passes gets a signed token for its host; what does not is
            listed with its reason, and nothing is signed for it.
          </p>
          <p className="text-muted">An approval can be taken back until its host has fetched it.</p>
          {isPending && <Progress id={progressId} total={count} />}
          {error && (
            <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-bad">
              {error.message}
            </p>
          )}
          <div className="flex justify-end gap-2">
            <Button onClick={onClose}>{isPending ? 'Leave it running' : 'Cancel'}</Button>
            <Button type="submit" autoFocus tone="primary" busy={isPending}>
              Approve {counted(count, 'update')}
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}

/** Whether the dialog is still open when the server answers. */
function useIsThere() {
  const isThere = useRef(true);
  useEffect(() => {
    isThere.current = true;
    return () => {
      isThere.current = false;
    };
  }, []);
  return isThere;
}

function Progress({ id, total }: { id: string; total: number }) {
  const { data } = useQuery({
    ...oneQuery<BulkProgress>('bulk', `/api/v1/bulk/${id}`),
    refetchInterval: PROGRESS_EVERY_MS,
    retry: false,
  });
  const done = data?.done ?? 0;
  return (
    <div>
      <progress
        aria-label="Updates judged"
        className="h-2 w-full accent-accent"
        max={data?.total ?? total}
        {...(data ? { value: done } : {})}
      />
      <p role="status" className="text-muted">
        {data
          ? `${done.toLocaleString('en')} of ${counted(data.total, 'update')} judged: ${progressText(data)}`
          : 'The gate is asked.'}
      </p>
    </div>
  );
}

function progressText({ approved, waiting, blocked, skipped }: BulkProgress): string {
  return `${approved} approved, ${waiting} waiting for a plan, ${blocked} blocked, ${skipped} skipped`;
}
