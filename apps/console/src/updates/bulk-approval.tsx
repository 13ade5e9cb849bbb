import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { BulkApproveAnswer } from '@tidegate/protocol/approvals-api';
import type { UpdateItem } from '@tidegate/protocol/updates-api';
import { post } from '../api/client.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { BulkResult } from './bulk-result.tsx';
import { bulkBody, type Chosen, sizeOf } from './bulk-rules.ts';
import { counted } from './update-words.ts';

/** Asks once, says that the server is at it, then what came of it. */
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
  const approval = useMutation({
    mutationFn: () => post<BulkApproveAnswer>('/api/v1/updates/approve', bulkBody(chosen)),
    onSuccess: onDone,
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
          {isPending && <Progress count={count} />}
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

function Progress({ count }: { count: number }) {
  return (
    <div>
      <progress aria-label="Updates judged" className="h-2 w-full accent-accent" />
      <p role="status" className="text-muted">
        The gate judges {counted(count, 'update')}.
      </p>
    </div>
  );
}
