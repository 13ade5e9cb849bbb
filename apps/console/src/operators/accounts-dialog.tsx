import { useQuery } from '@tanstack/react-query';
import type { Identities, IdentityProvider } from '@tidegate/protocol/identity-providers-api';
import { isolated } from '@tidegate/protocol/isolated';
import type { Operator } from '@tidegate/protocol/operators-api';
import { type FormEvent, useState } from 'react';
import { post, remove } from '../api/client.ts';
import { listQuery, oneQuery, queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog, DialogFooter } from '../ui/dialog.tsx';
import { Field, Select } from '../ui/field.tsx';

/** The accounts of identity providers that log an operator in. */
export function AccountsDialog({ operator, onClose }: { operator: Operator; onClose: () => void }) {
  const path = `/api/v1/admin/operators/${operator.id}`;
  const accounts = useQuery(oneQuery<Identities>('operators', `${path}/identities`));
  const providers = useQuery(listQuery<IdentityProvider>('operators', '/api/v1/admin/identity-providers'));
  const [failure, setFailure] = useState<string | null>(null);
  const act = async (change: () => Promise<unknown>) => {
    setFailure(null);
    try {
      await withStepUp(change);
      await queryClient.invalidateQueries({ queryKey: ['operators'] });
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    }
  };
  const bind = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const asked = Object.fromEntries(new FormData(form));
    void act(async () => {
      await post(`${path}/identities`, asked);
      form.reset();
    });
  };
  const items = accounts.data?.items ?? [];
  return (
    <Dialog title={`Accounts of ${isolated(operator.username)}`} onClose={onClose}>
      <div className="space-y-4">
        {items.length === 0 && (
          <p>
            No identity provider logs <bdi>{operator.username}</bdi> in.
          </p>
        )}
        <ul className="space-y-2">
          {items.map(({ id, provider_name, issuer, subject }) => (
            <li key={id} className="flex flex-wrap items-center justify-between gap-2">
              <span className="min-w-0 break-all">
                <bdi>{provider_name}</bdi>: <span className="mono">{subject}</span>
                <span className="block text-muted">{issuer}</span>
              </span>
              <Button
                tone="quiet"
                aria-label={`Unbind ${isolated(subject)}`}
                onClick={() => void act(() => remove(`${path}/identities/${id}`))}
              >
                Unbind
              </Button>
            </li>
          ))}
        </ul>
        {(providers.data?.items.length ?? 0) > 0 && (
          <form className="space-y-3" onSubmit={bind}>
            <Select label="Identity provider" name="provider_id">
              {providers.data?.items.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </Select>
            <Field
              label="Subject"
              name="subject"
              hint="The provider’s own id of the account (sub). A refused sign-in shows it."
              maxLength={255}
              required
            />
            <Button type="submit">Bind the account</Button>
          </form>
        )}
        {accounts.data?.has_password && items.length > 0 && (
          <div className="space-y-2 border-t border-line pt-3">
            <p>
              <bdi>{operator.username}</bdi> has a password too: role and groups are what admins set. Without
              it the provider decides both at each sign-in.
            </p>
            <Button tone="danger" onClick={() => void act(() => remove(`${path}/password`))}>
              Remove the password
            </Button>
          </div>
        )}
        {failure !== null && (
          <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-bad">
            {failure}
          </p>
        )}
        <DialogFooter>
          <Button onClick={onClose}>Done</Button>
        </DialogFooter>
      </div>
    </Dialog>
  );
}
