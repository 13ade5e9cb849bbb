import { useMutation } from '@tanstack/react-query';
import type { CreatedRegistrationToken, CreateRegistrationToken } from '@tidegate/protocol/enrolment-api';
import { useId, useState } from 'react';
import { post } from '../api/client.ts';
import { fieldFaults } from '../api/field-faults.ts';
import { queryClient } from '../api/queries.ts';
import { useGroups } from '../hosts/groups.ts';
import { wordsOf } from '../hosts/tag-rules.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button } from '../ui/button.tsx';
import { Field, Select } from '../ui/field.tsx';

const HOUR_MS = 3_600_000;
const LIFETIMES = [
  [1, '1 hour'],
  [24, '1 day'],
  [7 * 24, '7 days'],
  [30 * 24, '30 days'],
  [90 * 24, '90 days'],
] as const;
/** The margin below the server's maximum lifetime, as its clock may be behind the browser's. */
const SLACK_MS = 60_000;
const SEATS_MAX = 100_000;
/** Shown where nothing is typed, and used then. */
const LABEL = 'new hosts';

/** Creates a registration token and passes it, with its secret, to the caller. */
export function NewTokenForm({ onCreated }: { onCreated: (token: CreatedRegistrationToken) => void }) {
  const [label, setLabel] = useState('');
  const [seats, setSeats] = useState('1');
  const [hours, setHours] = useState('24');
  const [group, setGroup] = useState('');
  const [tags, setTags] = useState('');
  const groups = useGroups();
  const listId = useId();
  const create = useMutation({
    mutationFn: () => {
      const body: CreateRegistrationToken = {
        label: label.trim() || LABEL,
        seats: Number(seats),
        expires_at: new Date(Date.now() + Number(hours) * HOUR_MS - SLACK_MS).toISOString(),
        ...(group === '' ? {} : { group }),
        ...(tags.trim() === '' ? {} : { tags: wordsOf(tags) }),
      };
      return withStepUp(() => post<CreatedRegistrationToken>('/api/v1/admin/registration-tokens', body));
    },
    onSuccess: (token) => {
      setLabel('');
      void queryClient.invalidateQueries({ queryKey: ['enrolment'] });
      onCreated(token);
    },
  });
  const faults = fieldFaults(create.error);
  const isShownAtField = Object.keys(faults).some((name) => name in FIELDS);
  return (
    <form
      className="grid grid-cols-1 items-start gap-3 sm:grid-cols-2 lg:grid-cols-[2fr_7rem_8rem_1.5fr_1.5fr_auto]"
      onSubmit={(event) => {
        event.preventDefault();
        create.mutate();
      }}
    >
      <Field
        label="Label (optional)"
        maxLength={256}
        placeholder={LABEL}
        value={label}
        error={faults.label}
        onChange={(event) => setLabel(event.target.value)}
      />
      <Field
        label="Hosts"
        type="number"
        required
        min={1}
        max={SEATS_MAX}
        value={seats}
        error={faults.seats}
        onChange={(event) => setSeats(event.target.value)}
      />
      <Select
        label="Valid for"
        value={hours}
        error={faults.expires_at}
        onChange={(event) => setHours(event.target.value)}
      >
        {LIFETIMES.map(([value, word]) => (
          <option key={value} value={value}>
            {word}
          </option>
        ))}
      </Select>
      <Field
        label="Group (optional)"
        list={listId}
        maxLength={128}
        autoComplete="off"
        value={group}
        error={faults.group}
        onChange={(event) => setGroup(event.target.value)}
      />
      <datalist id={listId}>
        {groups.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <Field
        label="Tags (optional)"
        placeholder="env=prod"
        maxLength={4_096}
        autoComplete="off"
        spellCheck={false}
        value={tags}
        error={faults.tags}
        onChange={(event) => setTags(event.target.value)}
      />
      <Button type="submit" tone="primary" busy={create.isPending} className="min-h-9 lg:mt-6.5">
        Create a token
      </Button>
      {create.error && !isShownAtField && (
        <p role="alert" className="col-span-full rounded-md bg-bad-soft px-3 py-2 text-bad">
          {create.error.message}
        </p>
      )}
    </form>
  );
}

const FIELDS = { label: true, seats: true, expires_at: true, group: true, tags: true } as const;
