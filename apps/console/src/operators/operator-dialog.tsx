import { useMutation } from '@tanstack/react-query';
import { isolated } from '@tidegate/protocol/isolated';
import type { Operator, ResetEnds } from '@tidegate/protocol/operators-api';
import type { Role } from '@tidegate/protocol/states';
import { Field, Select } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { groupsOf, ROLES } from './access-rules.ts';

interface Props {
  /** Null to add one. */
  readonly operator: Operator | null;
  readonly onSave: (asked: Readonly<Record<string, unknown>>) => Promise<unknown>;
  readonly onClose: () => void;
}

/** Adds an operator, or changes role, groups and password. */
export function OperatorDialog({ operator, onSave, onClose }: Props) {
  const saving = useMutation({ mutationFn: onSave, onSuccess: onClose });
  const save = (form: FormData) => {
    const password = String(form.get('password'));
    saving.mutate({
      ...(operator === null ? { username: form.get('username') } : {}),
      ...(password === '' ? {} : { password }),
      ...(password === '' || operator === null ? {} : { keep: form.getAll('keep') }),
      role: form.get('role'),
      groups: groupsOf(String(form.get('groups'))),
    });
  };
  return (
    <FormDialog
      title={operator === null ? 'Add an operator' : `Change ${isolated(operator.username)}`}
      lead="The role says what an operator may do, and the groups on which hosts."
      submit="Save"
      tone="primary"
      busy={saving.isPending}
      error={saving.error?.message}
      onSubmit={save}
      onClose={onClose}
    >
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
    </FormDialog>
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
