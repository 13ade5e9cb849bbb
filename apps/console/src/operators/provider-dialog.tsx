import { useMutation } from '@tanstack/react-query';
import type { IdentityProvider } from '@tidegate/protocol/identity-providers-api';
import { isolated } from '@tidegate/protocol/isolated';
import { useState } from 'react';
import { ApiError } from '../api/client.ts';
import { CheckBox } from '../ui/check-box.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { Field, Select, TextArea } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { groupsOf, ROLES } from './access-rules.ts';
import { mappingText, readMapping } from './mapping-text-rules.ts';

interface Props {
  /** Null to add one. */
  readonly provider: IdentityProvider | null;
  readonly onSave: (asked: Readonly<Record<string, unknown>>) => Promise<unknown>;
  readonly onClose: () => void;
}

/** Adds an identity provider, or changes all of it but its id and issuer. */
export function ProviderDialog({ provider, onSave, onClose }: Props) {
  const [id, setId] = useState(provider?.id ?? '');
  const saving = useMutation({
    mutationFn: async (form: FormData) => {
      const read = askedOf(form, provider === null);
      if (!read.ok) throw new Error(read.why);
      await onSave(read.asked);
    },
    onSuccess: onClose,
  });
  const title = provider === null ? 'Add an identity provider' : `Change ${isolated(provider.name)}`;
  return (
    <FormDialog
      title={title}
      wide
      lead="People sign in with their accounts there, and their groups decide what they may do here."
      submit="Save"
      tone="primary"
      busy={saving.isPending}
      error={saving.error && wordsOf(saving.error)}
      onSubmit={(form) => saving.mutate(form)}
      onClose={onClose}
    >
      {provider === null && (
        <Field
          label="Id"
          name="id"
          value={id}
          onChange={({ target }) => setId(target.value)}
          pattern="[a-z0-9]([a-z0-9\-]{0,38}[a-z0-9])?"
          hint="Lower-case letters, digits and hyphens, such as entra. Part of the redirect URI; it never changes."
          required
          autoFocus
        />
      )}
      <p>
        Redirect URI to register at the provider:{' '}
        <CopyText text={provider?.redirect_uri ?? `${location.origin}/sign-in/${id || 'ID'}/callback`} />
      </p>
      <div className="grid gap-3 sm:grid-cols-2">
        <Field
          label="Name"
          name="name"
          defaultValue={provider?.name}
          hint="As the login page shows it"
          maxLength={64}
          required
        />
        {provider === null ? (
          <Field
            label="Issuer"
            name="issuer"
            type="url"
            hint="https://…, exactly as the provider writes it"
            required
          />
        ) : (
          <div className="space-y-1">
            <p className="font-medium">Issuer</p>
            <p className="mono break-all">{provider.issuer}</p>
          </div>
        )}
        <Field label="Client id" name="client_id" defaultValue={provider?.client_id} required />
        <Field
          label={provider === null ? 'Client secret' : 'New client secret'}
          name="client_secret"
          type="password"
          autoComplete="off"
          hint={provider === null ? 'Stored encrypted, never shown' : 'Leave empty to keep it'}
          required={provider === null}
        />
        <Select
          label="The secret is sent"
          name="client_auth"
          defaultValue={provider?.client_auth ?? 'client_secret_basic'}
        >
          <option value="client_secret_basic">in the header (client_secret_basic)</option>
          <option value="client_secret_post">in the body (client_secret_post)</option>
        </Select>
        <Field
          label="Scopes"
          name="scopes"
          defaultValue={provider?.scopes.join(' ') ?? 'openid profile email'}
          hint="Separated by spaces; openid is needed"
          required
        />
        <Field
          label="Claim with the groups"
          name="group_claim"
          defaultValue={provider?.group_claim ?? 'groups'}
          required
        />
        <Field
          label="Claim with the name"
          name="username_claim"
          defaultValue={provider?.username_claim ?? 'preferred_username'}
          hint="Names operators that a sign-in creates"
          required
        />
      </div>
      <TextArea
        label="Groups and roles"
        name="mapping"
        rows={4}
        defaultValue={mappingText(provider?.mapping ?? [])}
        hint="One rule per line: tidegate-admins = admin, or web-team = approver: web, db. Of the rules that match, those of the highest role count."
      />
      <div className="grid gap-3 sm:grid-cols-2">
        <Select
          label="Without a match"
          name="default_role"
          defaultValue={provider?.default_grant?.role ?? ''}
        >
          <option value="">no access</option>
          {Object.entries(ROLES).map(([name, text]) => (
            <option key={name} value={name}>
              {text}
            </option>
          ))}
        </Select>
        <Field
          label="Host groups without a match"
          name="default_groups"
          defaultValue={provider?.default_grant?.groups?.join(', ') ?? ''}
          hint="Separated by commas. Leave empty for the whole fleet."
        />
        <Field
          label="Counts as a second factor"
          name="factor_values"
          defaultValue={provider?.factor_values.join(', ') ?? ''}
          hint="Values of acr or amr, separated by commas, such as mfa"
        />
        <Field
          label="Ask for (acr_values)"
          name="acr_values"
          defaultValue={provider?.acr_values ?? ''}
          hint="Leave empty unless the provider needs it"
        />
      </div>
      <CheckBox name="creates_operators" defaultChecked={provider?.creates_operators ?? false}>
        The first sign-in of an account creates an operator
      </CheckBox>
      <CheckBox name="enabled" defaultChecked={provider?.enabled ?? false}>
        On: the login page offers it. Save it off first, and test it.
      </CheckBox>
    </FormDialog>
  );
}

type Read = { ok: true; asked: Readonly<Record<string, unknown>> } | { ok: false; why: string };

function askedOf(form: FormData, isNew: boolean): Read {
  const text = (name: string) => String(form.get(name) ?? '').trim();
  const mapping = readMapping(text('mapping'));
  if (!mapping.ok) return { ok: false, why: `This is no rule: ${mapping.line}` };
  const secret = text('client_secret');
  const role = text('default_role');
  return {
    ok: true,
    asked: {
      ...(isNew ? { id: text('id'), issuer: text('issuer') } : {}),
      ...(secret === '' ? {} : { client_secret: secret }),
      ...{ name: text('name'), client_id: text('client_id'), client_auth: text('client_auth') },
      ...{ group_claim: text('group_claim'), username_claim: text('username_claim') },
      scopes: text('scopes').split(/\s+/),
      mapping: mapping.mapping,
      default_grant: role === '' ? null : { role, groups: groupsOf(text('default_groups')) },
      factor_values: groupsOf(text('factor_values')) ?? [],
      acr_values: text('acr_values') || null,
      creates_operators: form.has('creates_operators'),
      enabled: form.has('enabled'),
    },
  };
}

function wordsOf(error: Error): string {
  const faults = error instanceof ApiError ? (error.problem?.errors ?? []) : [];
  const words = faults.map(({ path, message }) => `${path.slice(1).replaceAll('_', ' ')} ${message}`);
  if (words.length > 0) return `${words.join('; ')}.`;
  return error.message;
}
