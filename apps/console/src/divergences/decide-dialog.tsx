import type { Divergence } from '@tidegate/protocol/artifacts-api';
import { isolated } from '@tidegate/protocol/isolated';
import { type FormEvent, useState } from 'react';
import { post } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog, DialogFooter } from '../ui/dialog.tsx';
import { TextArea } from '../ui/field.tsx';
import { Time } from '../ui/time.tsx';
import { toast } from '../ui/toasts.tsx';
import { HashChoice } from './hash-choice.tsx';
import { SightingsFold } from './sightings-fold.tsx';

interface Props {
  readonly path: string;
  readonly divergence: Divergence;
  readonly canDecide: boolean;
  readonly onClose: () => void;
}

/** Shows who reported each hash; accepts the right one, or undoes the decision. */
export function DecideDialog({ path, divergence, canDecide, onClose }: Props) {
  const { id, name, version, hashes, state } = divergence;
  const [accept, setAccept] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | undefined>();
  const send = async (verb: 'decide' | 'undo', body: object) => {
    setBusy(true);
    setFailure(undefined);
    try {
      await withStepUp(() => post<Divergence>(`${path}/${id}/${verb}`, body));
      await queryClient.invalidateQueries({ queryKey: ['updates'] });
      toast(
        verb === 'decide'
          ? `Decided: ${isolated(name)}@${isolated(version)}.`
          : `Undone: ${isolated(name)}@${isolated(version)}.`,
      );
      onClose();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const reason = data.get('reason');
    const { nativeEvent } = event;
    const isUndo =
      nativeEvent instanceof SubmitEvent && nativeEvent.submitter?.getAttribute('value') === 'undo';
    if (isUndo) void send('undo', { reason });
    else {
      const accepted = accept === 'typed' ? data.get('typed') : accept;
      void send('decide', { accept: accepted, reason, confirm_count: hashes.length });
    }
  };
  return (
    <Dialog title={`${isolated(name)}@${isolated(version)}`} onClose={onClose} wide>
      <form className="space-y-4" onSubmit={submit}>
        <p>
          Before you decide, find out which file the authors released: from a machine that you trust, compare
          the hashes with the registry or repository itself. Hashes that you do not accept stay blocked.
        </p>
        <HashChoice {...{ divergence, canDecide, accept }} choose={setAccept} />
        <SightingsFold path={`${path}/${id}`} />
        {divergence.reason !== null && (
          <p className="text-muted">
            Decided by <bdi>{divergence.decided_by}</bdi> <Time at={divergence.decided_at} />:{' '}
            <bdi>{divergence.reason}</bdi>
          </p>
        )}
        {canDecide && (
          <TextArea
            label="Reason"
            name="reason"
            hint="What you compared it with. It is recorded in the event log."
            required
            maxLength={4_096}
            error={failure}
          />
        )}
        <DialogFooter>
          <Button onClick={onClose}>Close</Button>
          {canDecide && state === 'decided' && (
            <Button type="submit" name="verb" value="undo" busy={busy}>
              Undo the decision
            </Button>
          )}
          {canDecide && (
            <Button type="submit" tone="danger" busy={busy} disabled={accept === null}>
              {accept === 'all' ? 'Accept all hashes' : 'Accept this hash, block the others'}
            </Button>
          )}
        </DialogFooter>
      </form>
    </Dialog>
  );
}
