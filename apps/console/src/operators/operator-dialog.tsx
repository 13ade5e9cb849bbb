import type { Operator, ResetEnds } from '@tidegate/protocol/operators-api';
import type { Role } from '@tidegate/protocol/states';
import { type FormEvent, useState } from 'react';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Field, Select } from '../ui/field.tsx';
import { groupsOf, ROLES } from './access-rules.ts';

interface Props {
  /** Null to add one. */
  readonly operator: Operator | null;
  readonly onSave: (asked: Readonly<Record<string, unknown>>) => Promise<unknown>;
  readonly onClose: () => void;
}

/** Adds an operator, or changes role, groups and password. */
export function OperatorDialog({ operator, onSave, onClose }: Props) {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const save = async (form: FormData) => {
    setBusy(true);
    setFailure(null);
    const password = String(form.get('password'));
    const asked = {
      ...(operator === null ? { username: form.get('username') } : {}),
      ...(password === '' ? {} : { password }),
      ...(password === '' || operator === null ? {} : { keep: form.getAll('keep') }),
      role: form.get('role'),
      groups: groupsOf(String(form.get('groups'))),
    };
    try {
      await onSave(asked);
      onClose();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void save(new FormData(event.currentTarget));
  };
  return (
    <Dialog title={operator === null ? 'Add an operator' : `Change ${operator.username}`} onClose={onClose}>
      <form className="space-y-3" onSubmit={submit}>
        {operator === null && (
          <Field
            label="Username"
            name="username"
            pattern="[A-Za-z0-9._@\-]{1,64}"
            hint="1 to 64 letters, digits and . _ @ -"
            autoComplete="off"
            required
            autoFocus
          />
        )}
        <Field
          label={operator === null ? 'Initial password' : 'New password'}
          name="password"
          type="password"
          autoComplete="new-password"
          hint={
            operator === null
              ? '15 to 256 characters. They should change it after logging in.'
              : 'Leave empty to keep it. At least 15 characters, or 8 if a factor is kept. A new one ends all access that is not kept below.'
          }
          minLength={8}
          maxLength={256}
          required={operator === null}
        />
        {operator !== null && <KeptFields />}
        <RoleField chosen={operator?.role ?? 'viewer'} />
        <GroupsField groups={operator?.groups ?? null} />
        {failure !== null && (
          <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-bad">
            {failure}
          </p>
        )}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" busy={busy}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

const KEPT: Readonly<Record<ResetEnds, string>> = {
  totp: 'authenticator app',
  passkeys: 'passkeys',
  identities: 'accounts of identity providers',
  sessions: 'sessions',
  api_tokens: 'API tokens',
};

/** What a new password keeps; everything unmarked ends. */
function KeptFields() {
  return (
    <fieldset className="space-y-1">
      <legend className="font-medium">With a new password, keep</legend>
      {Object.entries(KEPT).map(([name, text]) => (
        <label key={name} className="flex min-h-6 items-center gap-2">
          <input type="checkbox" name="keep" value={name} className="size-4" />
          {text}
        </label>
      ))}
    </fieldset>
  );
}

export function RoleField({ chosen }: { chosen: Role }) {
  return (
    <Select label="Role" name="role" defaultValue={chosen}>
      {Object.entries(ROLES).map(([name, text]) => (
        <option key={name} value={name}>
          {text}
        </option>
      ))}
    </Select>
  );
}

export function GroupsField({ groups }: { groups: readonly string[] | null }) {
  return (
    <Field
      label="Host groups"
      name="groups"
      defaultValue={groups?.join(', ') ?? ''}
      hint="Names separated by commas. Leave empty for the whole fleet."
      autoComplete="off"
    />
  );
}
