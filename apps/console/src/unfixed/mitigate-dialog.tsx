import { useMutation } from '@tanstack/react-query';
import { isolated } from '@tidegate/protocol/isolated';
import type { MitigationRequest, UnfixedItem } from '@tidegate/protocol/unfixed-api';
import { put } from '../api/client.ts';
import { faultUnder } from '../api/field-faults.ts';
import { queryClient } from '../api/queries.ts';
import { Button } from '../ui/button.tsx';
import { Field, TextArea } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { toast } from '../ui/toasts.tsx';
import { nameOf, UNFIXED } from './unfixed-rules.ts';

/** Notes which hook keeps a vulnerability from harm, or takes the note back. */
export function MitigateDialog({ item, onClose }: { item: UnfixedItem; onClose: () => void }) {
  const { mitigation } = item;
  const noting = useMutation({
    mutationFn: (body: { mitigation: MitigationRequest | null }) =>
      put<UnfixedItem>(`${UNFIXED}/${item.id}/mitigation`, body),
    onSuccess: async ({ mitigation: noted }) => {
      toast(
        noted
          ? `Noted: ${noted.hook} mitigates ${isolated(nameOf(item))}.`
          : `The note on ${isolated(nameOf(item))} is taken back.`,
      );
      await queryClient.invalidateQueries({ queryKey: ['updates'] });
      onClose();
    },
  });
  return (
    <FormDialog
      title={`Note the mitigation of ${isolated(nameOf(item))}`}
      lead="A note for people and auditors. Nothing runs on the hosts, and nothing is approved or counted otherwise because of it."
      submit="Note the mitigation"
      tone="primary"
      busy={noting.isPending}
      error={noting.error?.message}
      onSubmit={(form) => {
        const [hook, note] = [String(form.get('hook') ?? '').trim(), String(form.get('note') ?? '')];
        noting.mutate({ mitigation: { hook, note } });
      }}
      onClose={onClose}
    >
      <Field
        {...{ label: 'Hook', name: 'hook', required: true, maxLength: 64, spellCheck: false }}
        defaultValue={mitigation?.hook ?? ''}
        autoComplete="off"
        error={faultUnder(noting.error, '/mitigation/hook')}
        hint="The name of a file in hooks.d on the hosts, without its ending."
      />
      <TextArea
        {...{ label: 'Why it helps', name: 'note', required: true, maxLength: 1_000 }}
        defaultValue={mitigation?.note ?? ''}
        error={faultUnder(noting.error, '/mitigation/note')}
      />
      {mitigation && (
        <Button busy={noting.isPending} onClick={() => noting.mutate({ mitigation: null })}>
          Take the note back
        </Button>
      )}
    </FormDialog>
  );
}
