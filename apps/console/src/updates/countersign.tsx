import { useMutation } from '@tanstack/react-query';
import type { Envelope } from '@tidegate/protocol/documents';
import { post } from '../api/client.ts';
import { fieldFaults } from '../api/field-faults.ts';
import { queryClient } from '../api/queries.ts';
import { Button } from '../ui/button.tsx';
import { Field } from '../ui/field.tsx';
import { Fold } from '../ui/fold.tsx';
import { saveJson } from '../ui/save-file.ts';
import type { UpdateView } from './update-view.ts';

interface Answer {
  readonly token: Envelope;
}

/** Adds a second signature to the server's, for hosts whose own policy requires one. */
export function Countersign({ update, token }: { update: UpdateView; token: Envelope | null }) {
  const signing = useMutation({
    mutationFn: (body: { keyid: string; sig: string }) =>
      post<Answer>(`/api/v1/updates/${update.id}/countersign`, body),
    // The command of the approval may have waited for it.
    onSettled: () =>
      Promise.all(
        ['updates', 'commands'].map((topic) => queryClient.invalidateQueries({ queryKey: [topic] })),
      ),
  });
  const current = signing.data?.token ?? token;
  const faults = fieldFaults(signing.error);
  return (
    <Fold summary="Countersign">
      <form
        className="space-y-3"
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          signing.mutate({
            keyid: String(form.get('keyid')).trim(),
            sig: String(form.get('sig')).trim(),
          });
        }}
      >
        <p className="text-muted">
          A host's own policy may require a second signature, by a key that only the host knows. Sign the DSSE
          encoding of the token's payload with Ed25519.
        </p>
        {current && (
          <Button onClick={() => void saveJson(`approval-${update.id}.dsse.json`, current)}>
            Save the token to sign
          </Button>
        )}
        <Field label="Key id" name="keyid" required maxLength={128} autoComplete="off" error={faults.keyid} />
        <Field
          label="Signature"
          name="sig"
          hint="64 bytes in base64: 88 characters."
          required
          minLength={88}
          maxLength={88}
          autoComplete="off"
          spellCheck={false}
          className="mono"
          error={faults.sig}
        />
        {signing.error && (
          <p role="alert" className="text-bad">
            {signing.error.message}
          </p>
        )}
        {signing.data && (
          <p role="status" className="text-good">
            The token has {signing.data.token.signatures.length} signatures now.
          </p>
        )}
        <Button type="submit" busy={signing.isPending}>
          Add the signature
        </Button>
      </form>
    </Fold>
  );
}
