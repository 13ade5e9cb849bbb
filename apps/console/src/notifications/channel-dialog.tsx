import { useMutation } from '@tanstack/react-query';
import { isolated } from '@tidegate/protocol/isolated';
import type { ChannelKind } from '@tidegate/protocol/notification-channels';
import type { ChannelRequest, NotificationChannel } from '@tidegate/protocol/notifications-api';
import { useState } from 'react';
import { post, put } from '../api/client.ts';
import { fieldFaults } from '../api/field-faults.ts';
import { queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Field, Select } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { ChannelFields } from './channel-fields.tsx';
import { CHANNELS, KIND_KEYS, KINDS, requestOf, SECRETS } from './channel-rules.ts';

/** Adds a channel, or changes one. Its secret is only written. */
export function ChannelDialog({
  channel,
  onSaved,
  onClose,
}: {
  /** Null to add one. */
  channel: NotificationChannel | null;
  onSaved: (channel: NotificationChannel) => void;
  onClose: () => void;
}) {
  const [kind, setKind] = useState<ChannelKind>(channel?.config.kind ?? 'smtp');
  const saving = useMutation({
    mutationFn: (body: ChannelRequest) =>
      withStepUp(() =>
        channel === null
          ? post<NotificationChannel>(CHANNELS, body)
          : put<NotificationChannel>(`${CHANNELS}/${channel.id}`, body),
      ),
    onSuccess: async (saved) => {
      await queryClient.invalidateQueries({ queryKey: ['notifications'] });
      onClose();
      onSaved(saved);
    },
  });
  const faults = fieldFaults(saving.error);
  const secret = SECRETS[kind];
  const isKept = channel?.has_secret === true;
  return (
    <FormDialog
      title={channel === null ? 'Add a channel' : `Change ${isolated(channel.name)}`}
      lead="Messages name hosts, packages and vulnerabilities: who can read the channel can read them."
      submit="Save the channel"
      tone="primary"
      busy={saving.isPending}
      error={saving.error?.message}
      onSubmit={(form) => {
        const text = (name: string) => String(form.get(name) ?? '');
        saving.mutate(requestOf(kind, { text, isEnabled: channel?.is_enabled ?? true }));
      }}
      onClose={onClose}
    >
      {channel === null && (
        <Select
          label="Kind"
          value={kind}
          onChange={({ target: { value } }) => {
            saving.reset();
            setKind(KIND_KEYS.find((one) => one === value) ?? 'smtp');
          }}
        >
          {KIND_KEYS.map((one) => (
            <option key={one} value={one}>
              {KINDS[one]}
            </option>
          ))}
        </Select>
      )}
      <Field
        {...{ label: 'Name', name: 'name', required: true, maxLength: 100, autoComplete: 'off' }}
        {...{ defaultValue: channel?.name, error: faults.name }}
      />
      <ChannelFields key={kind} kind={kind} config={channel?.config ?? null} faults={faults} />
      {secret && (
        <Field
          {...{ label: secret.label, name: 'secret', type: 'password', autoComplete: 'new-password' }}
          required={!isKept && !secret.isOptional}
          hint={isKept ? 'Leave empty to keep the stored one. It is never shown.' : secret.hint}
          error={faults.secret}
        />
      )}
    </FormDialog>
  );
}
