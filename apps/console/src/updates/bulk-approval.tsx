import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { BulkProgress } from '@tidegate/protocol/bulk-api';
import type { UpdateItem } from '@tidegate/protocol/updates-api';
import { useEffect, useRef, useState } from 'react';
import { oneQuery } from '../api/queries.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { toast } from '../ui/toasts.tsx';
import { approveInBulk } from './approve-in-bulk.ts';
import { BulkResult } from './bulk-result.tsx';
import { type Chosen, isUnheard, outcomeText, sizeOf, uuidOf } from './bulk-rules.ts';
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
  const [progressId, setProgressId] = useState(newId);
  const [isLost, setLost] = useState(false);
  const approval = useMutation({
    mutationFn: (isResent: boolean) => approveInBulk({ chosen, progressId, isResent }, () => setLost(true)),
    onMutate: () => setLost(false),
    onSuccess: ({ answer }) => {
      onDone();
      if (!isThere.current) toast(`The bulk approval has ended: ${outcomeText(answer)}.`);
    },
    onError: (failure) => {
      // By the same id the server tells a request that it has not heard of from one that is on its way still.
      if (!isUnheard(failure)) setProgressId(newId);
    },
    onSettled: () => client.invalidateQueries(),
  });
  const { data: outcome, error, isPending } = approval;
  const count = sizeOf(chosen);
  return (
    <Dialog
      title={outcome ? 'What came of it' : `Approve ${counted(count, 'update')}`}
      onClose={onClose}
      wide={!!outcome}
    >
      {outcome ? (
        <>
          {!outcome.isWhole && (
            <p className="mb-4 rounded-md bg-warn-soft px-3 py-2 text-warn">
              The server ended the request early: what is listed here is decided, all else is as it was.
            </p>
          )}
          <BulkResult answer={outcome.answer} known={known} />
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
            approval.mutate(isUnheard(error));
          }}
        >
          <p>
            The gate judges each of them now. What passes gets a signed token for its host; what does not is
            listed with its reason, and nothing is signed for it.
          </p>
          <p className="text-muted">An approval can be taken back until its host has fetched it.</p>
          {isPending && <Progress id={progressId} total={count} />}
          {isPending && isLost && (
            <p role="status" className="rounded-md bg-warn-soft px-3 py-2 text-warn">
              The answer did not come. What came of it is shown here as soon as the server says so.
            </p>
          )}
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

const newId = () => uuidOf(crypto.getRandomValues(new Uint8Array(16)));

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
