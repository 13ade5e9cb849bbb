import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { BulkProgress } from '@tidegate/protocol/bulk-api';
import { counted } from '@tidegate/protocol/count-words';
import { useEffect, useRef, useState } from 'react';
import { oneQuery } from '../api/queries.ts';
import { Term } from '../glossary/term.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog, DialogFooter, DialogPlace } from '../ui/dialog.tsx';
import { toast } from '../ui/toasts.tsx';
import { approveInBulk } from './approve-in-bulk.ts';
import { BulkPreviewPanel, useBulkPreview } from './bulk-preview.tsx';
import { BulkResult } from './bulk-result.tsx';
import { type Chosen, isUnheard, type Known, outcomeText, passingOf, sizeOf, uuidOf } from './bulk-rules.ts';

const PROGRESS_EVERY_MS = 500;

/** Confirms a bulk approval, shows its progress, then its result. */
export function BulkApproval({
  chosen,
  known,
  passing = false,
  onClose,
  onDone,
}: {
  chosen: Chosen;
  /** Approves only what the preview shows as passing, instead of asking the gate for all that was chosen. */
  passing?: boolean;
  known: Known;
  onClose: () => void;
  /** Called when the server has answered: the selection is decided. */
  onDone: () => void;
}) {
  const client = useQueryClient();
  const isThere = useIsThere();
  const [progressId, setProgressId] = useState(newId);
  const [isLost, setLost] = useState(false);
  const preview = useBulkPreview(chosen);
  const asked = passing ? passingOf(preview.data) : chosen;
  const approval = useMutation({
    mutationFn: (isResent: boolean) =>
      approveInBulk({ chosen: asked, progressId, isResent }, () => setLost(true)),
    onMutate: () => setLost(false),
    onSuccess: ({ answer }) => {
      onDone();
      if (!isThere.current) toast(`The bulk approval has ended: ${outcomeText(answer)}.`);
    },
    onError: (failure) => {
      // By the same id the server recognises a request that is still on its way.
      if (!isUnheard(failure)) setProgressId(newId);
    },
    onSettled: () => client.invalidateQueries(),
  });
  const { data: outcome, error, isPending } = approval;
  const count = sizeOf(asked);
  // Nobody approves in bulk before the preview; one that failed keeps nobody from it.
  const approvable = preview.isFetching && !preview.data ? { waits: true } : { disabled: count === 0 };
  return (
    <Dialog
      title={
        outcome ? 'Result' : passing ? 'Approve all that is clear' : `Approve ${counted(count, 'update')}`
      }
      onClose={onClose}
      wide={!!outcome}
    >
      {outcome ? (
        <>
          {!outcome.isWhole && (
            <p className="mb-4 rounded-md bg-warn-soft px-3 py-2 text-warn">
              The server ended the request early. The updates listed here are decided; all others are
              unchanged.
            </p>
          )}
          <BulkResult answer={outcome.answer} known={known} />
          <div className="mt-4">
            <DialogFooter>
              <Button autoFocus tone="primary" onClick={onClose}>
                Close
              </Button>
            </DialogFooter>
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
          <DialogPlace>
            <Preview {...{ preview, known }} />
          </DialogPlace>
          <p>
            The <Term of="gate">gate</Term> judges each update again when you approve. Those of a host that
            pass are one transaction; the others are listed with the reason and stay pending.
          </p>
          <p className="text-muted">You can withdraw an approval until its host has fetched it.</p>
          {isPending && <Progress id={progressId} total={count} />}
          {isPending && isLost && (
            <p role="status" className="rounded-md bg-warn-soft px-3 py-2 text-warn">
              The connection was lost. The result is shown here as soon as the server reports it.
            </p>
          )}
          {error && (
            <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-bad">
              {error.message}
            </p>
          )}
          <DialogFooter>
            <Button onClick={onClose}>{isPending ? 'Leave it running' : 'Cancel'}</Button>
            <Button type="submit" tone="primary" busy={isPending} {...approvable}>
              Approve {counted(count, 'update')}
            </Button>
          </DialogFooter>
        </form>
      )}
    </Dialog>
  );
}

type PreviewProps = { readonly preview: ReturnType<typeof useBulkPreview>; readonly known: Known };

function Preview({ preview: { data, error, isFetching, refetch }, known }: PreviewProps) {
  if (data) return <BulkPreviewPanel preview={data} known={known} />;
  if (isFetching || !error) return <p className="text-muted">Looking at what this would change.</p>;
  return (
    <div className="space-y-2">
      <p className="text-warn">What this would change is not known: {error.message}</p>
      <Button onClick={() => void refetch()}>Look again</Button>
    </div>
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
          : 'Waiting for the gate.'}
      </p>
    </div>
  );
}

function progressText({ approved, waiting, blocked, skipped }: BulkProgress): string {
  return `${approved} approved, ${waiting} waiting for a plan, ${blocked} blocked, ${skipped} skipped`;
}
