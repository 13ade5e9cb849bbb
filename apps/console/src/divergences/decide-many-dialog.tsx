import type { DecideManyResult, Divergence } from '@tidegate/protocol/artifacts-api';
import { type FormEvent, useState } from 'react';
import { post } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog, DialogFooter } from '../ui/dialog.tsx';
import { TextArea } from '../ui/field.tsx';
import { toast } from '../ui/toasts.tsx';

interface Props {
  readonly path: string;
  readonly divergences: readonly Divergence[];
  readonly onDone: () => void;
  readonly onClose: () => void;
}

type Choice = 'first' | 'all';

/** Applies one choice and one reason to all selected divergences; each is decided separately. */
export function DecideManyDialog({ path, divergences, onDone, onClose }: Props) {
  const [choice, setChoice] = useState<Choice | null>(null);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | undefined>();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const reason = new FormData(event.currentTarget).get('reason');
    setBusy(true);
    setFailure(undefined);
    try {
      const decisions = divergences.map(({ id, hashes }) => ({
        ...{ id, accept: choice === 'all' ? 'all' : hashes[0]?.hash, confirm_count: hashes.length },
      }));
      const result = await withStepUp(() => post<DecideManyResult>(`${path}/decide`, { decisions, reason }));
      await queryClient.invalidateQueries({ queryKey: ['updates'] });
      const failed = result.failed.length;
      toast(
        `${result.decided.length} decided.${failed > 0 ? ` ${failed} changed meanwhile: review them again.` : ''}`,
      );
      onDone();
      onClose();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={`Decide ${divergences.length} divergences`} onClose={onClose}>
      <form className="space-y-4" onSubmit={(event) => void submit(event)}>
        <fieldset className="space-y-2">
          <legend className="font-medium">Which hash of each package is right?</legend>
          <label className="flex min-h-6 items-center gap-2">
            <input
              type="radio"
              name="choice"
              className="size-4"
              checked={choice === 'first'}
              onChange={() => setChoice('first')}
            />
            The one reported first; the others stay blocked
          </label>
          <label className="flex min-h-6 items-center gap-2">
            <input
              type="radio"
              name="choice"
              className="size-4"
              checked={choice === 'all'}
              onChange={() => setChoice('all')}
            />
            All listed hashes
          </label>
        </fieldset>
        <TextArea
          label="Reason"
          name="reason"
          hint="What you compared them with. It is recorded in the event log."
          required
          maxLength={4_096}
          error={failure}
        />
        <DialogFooter>
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" tone="danger" busy={busy} disabled={choice === null}>
            Decide all of them
          </Button>
        </DialogFooter>
      </form>
    </Dialog>
  );
}
