import { useMutation } from '@tanstack/react-query';
import type { ApiScope, CreatedApiToken } from '@tidegate/protocol/api-tokens-api';
import { isolated } from '@tidegate/protocol/isolated';
import { post } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button } from '../ui/button.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { Dialog, DialogFooter } from '../ui/dialog.tsx';
import { Field, Select } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { endAfter, groupsOf } from './access-rules.ts';
import { GroupsField, RoleField } from './operator-dialog.tsx';

const SCOPES: Readonly<Record<ApiScope, string>> = {
  read: 'see what the role may see',
  approve: 'approve and reject updates',
  override: 'override the gate when approving',
  hosts: 'add hosts, and act on them',
  admin: 'change operators, settings and keys',
};
const LIFETIMES_DAYS = [7, 30, 90, 180, 365] as const;

/** Creates a token and shows it once. */
export function NewTokenDialog({ path, onClose }: { path: string; onClose: () => void }) {
  const making = useMutation({
    mutationFn: (form: FormData) => {
      const scopes = form.getAll('scope').map(String);
      const asked = {
        label: form.get('label'),
        role: form.get('role'),
        groups: groupsOf(String(form.get('groups'))),
        scopes: scopes.length === 0 ? null : scopes,
        expires_at: endAfter(Number(form.get('days')), Date.now()),
      };
      return withStepUp(() => post<CreatedApiToken>(path, asked));
    },
    // The token is shown without waiting for the list.
    onSuccess: () => void queryClient.invalidateQueries({ queryKey: ['operators'] }),
  });
  const { data: made } = making;
  if (made !== undefined) {
    return (
      <Dialog title={`The token ${isolated(made.label)}`} onClose={onClose}>
        <div className="space-y-3">
          <p>
            The token is shown only once. Send it as <code>Authorization: Bearer …</code>.
          </p>
          <CopyText text={made.token} label="Copy the token" />
          <DialogFooter>
            <Button tone="primary" onClick={onClose}>
              I have saved it
            </Button>
          </DialogFooter>
        </div>
      </Dialog>
    );
  }
  return (
    <FormDialog
      title="Create an API token"
      lead="A program with the token acts in your name, within what is chosen here."
      submit="Create the token"
      tone="primary"
      busy={making.isPending}
      error={making.error?.message}
      onSubmit={(form) => making.mutate(form)}
      onClose={onClose}
    >
      <Field
        label="Label"
        name="label"
        hint="What it is for. It appears next to your name in events."
        required
        maxLength={64}
        autoFocus
        autoComplete="off"
      />
      <RoleField chosen="viewer" />
      <fieldset className="space-y-1">
        <legend className="font-medium">Scopes</legend>
        <p className="text-[0.9rem] text-muted">
          None selected: everything the role may do, except overrides.
        </p>
        {Object.entries(SCOPES).map(([scope, text]) => (
          <label key={scope} className="flex min-h-6 items-center gap-2 max-md:min-h-9">
            <input type="checkbox" name="scope" value={scope} className="size-4" />
            {scope}: {text}
          </label>
        ))}
      </fieldset>
      <GroupsField groups={null} />
      <Select label="Expires in" name="days" defaultValue="90">
        {LIFETIMES_DAYS.map((days) => (
          <option key={days} value={days}>
            {days} days
          </option>
        ))}
      </Select>
    </FormDialog>
  );
}
