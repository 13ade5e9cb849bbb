import { useMutation } from '@tanstack/react-query';
import type {
  CreatedRegistrationToken,
  CreateRegistrationToken,
  RegistrationTokenItem,
} from '@tidegate/protocol/enrolment-api';
import { useId, useState } from 'react';
import { post, remove } from '../api/client.ts';
import { fieldFaults } from '../api/field-faults.ts';
import { queryClient } from '../api/queries.ts';
import { useGroups } from '../hosts/groups.ts';
import { wordsOf } from '../hosts/tag-rules.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button } from '../ui/button.tsx';
import { Field, Select } from '../ui/field.tsx';
import { toast } from '../ui/toasts.tsx';
import { TOKENS } from './enrolment-rules.ts';

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

interface Props {
  /** The token whose place the new one takes: it starts with the same label, group and tags, for the hosts that are left. */
  readonly renewed?: RegistrationTokenItem | null;
  readonly onCreated: (token: CreatedRegistrationToken) => void;
}

/** Creates a registration token and passes it, with its secret, to the caller. */
export function NewTokenForm({ renewed = null, onCreated }: Props) {
  const [label, setLabel] = useState(renewed?.label ?? '');
  const [seats, setSeats] = useState(String(renewed ? renewed.seats - renewed.seats_used : 1));
  const [hours, setHours] = useState('24');
  const [group, setGroup] = useState(renewed?.group ?? '');
  const [tags, setTags] = useState(renewed?.tags.join(' ') ?? '');
  const groups = useGroups();
  const listId = useId();
  const create = useMutation({
    mutationFn: async () => {
      const body: CreateRegistrationToken = {
        label: label.trim() || LABEL,
        seats: Number(seats),
        expires_at: new Date(Date.now() + Number(hours) * HOUR_MS - SLACK_MS).toISOString(),
        ...(group === '' ? {} : { group }),
        ...(tags.trim() === '' ? {} : { tags: wordsOf(tags) }),
      };
      const created = await withStepUp(() => post<CreatedRegistrationToken>(TOKENS, body));
      // Last, so that there is always one to join with; the secret of the new one is shown this once, whatever comes of the old one.
      if (renewed) await withStepUp(() => remove(`${TOKENS}/${renewed.id}`)).catch(tellNotWithdrawn);
      return created;
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
      className="grid grid-cols-1 items-start [&_label]:whitespace-nowrap gap-3 sm:grid-cols-2 lg:grid-cols-[2fr_6rem_7rem_1.5fr_1.5fr_auto]"
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
        {renewed ? 'Renew the token' : 'Create a token'}
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

function tellNotWithdrawn(): void {
  toast('The old token is not withdrawn and still lets hosts in. Withdraw it in the list.', { tone: 'bad' });
}
