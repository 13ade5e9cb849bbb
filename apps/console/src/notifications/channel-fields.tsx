import type { ChannelConfig, ChannelKind } from '@tidegate/protocol/notification-channels';
import { type ReactNode, useState } from 'react';
import { CheckBox } from '../ui/check-box.tsx';
import { Field, Select, TextArea } from '../ui/field.tsx';
import { ENCRYPTIONS, type Encryption, encryptionOf, TELEGRAM_SERVER, USUAL_PORTS } from './channel-rules.ts';

interface Props {
  readonly kind: ChannelKind;
  /** The stored settings, of the same kind; null for a new channel. */
  readonly config: ChannelConfig | null;
  readonly faults: Readonly<Record<string, string>>;
}

const PLAIN = { required: true, autoComplete: 'off', spellCheck: false } as const;

/** The settings of a kind, without its secret. */
export function ChannelFields({ kind, config, faults }: Props): ReactNode {
  const field = (name: string, label: string, value: string | undefined, more: object = {}) => (
    <Field {...PLAIN} {...{ name, label, defaultValue: value, error: faults[name] }} {...more} />
  );
  switch (kind) {
    case 'webhook': {
      const { url, allow_http } = pick(config, 'webhook');
      return (
        <>
          {field('url', 'URL', url, {
            type: 'url',
            hint: 'Administrators can read it. Messages are signed: the channel shows the key to verify them with.',
          })}
          <AllowHttp checked={allow_http} />
        </>
      );
    }
    case 'smtp':
      return <MailFields config={pick(config, 'smtp')} field={field} faults={faults} />;
    case 'ntfy': {
      const { server, topic, allow_http } = pick(config, 'ntfy');
      return (
        <>
          {field('server', 'Server', server, { type: 'url', placeholder: 'https://ntfy.example.org' })}
          {field('topic', 'Topic', topic)}
          <AllowHttp checked={allow_http} />
        </>
      );
    }
    case 'matrix': {
      const { server, room, allow_http } = pick(config, 'matrix');
      return (
        <>
          {field('server', 'Homeserver', server, { type: 'url', placeholder: 'https://matrix.example.org' })}
          {field('room', 'Room', room, { hint: 'Its id, which begins with "!", not its alias.' })}
          <AllowHttp checked={allow_http} />
        </>
      );
    }
    case 'telegram': {
      const { server = TELEGRAM_SERVER, chat } = pick(config, 'telegram');
      return (
        <>
          {field('server', 'Server', server, { type: 'url' })}
          {field('chat', 'Chat', chat, { hint: 'Its number, or @name of a public one.' })}
        </>
      );
    }
    case 'slack':
    case 'teams':
    case 'discord':
      return null;
  }
}

type Of<K extends ChannelKind> = Extract<ChannelConfig, { kind: K }>;

function pick<K extends ChannelKind>(config: ChannelConfig | null, kind: K): Partial<Of<K>> {
  const isOf = (one: ChannelConfig | null): one is Of<K> => one?.kind === kind;
  return isOf(config) ? config : {};
}

function MailFields({
  config,
  field,
  faults,
}: {
  config: Partial<Of<'smtp'>>;
  field: (name: string, label: string, value: string | undefined, more?: object) => ReactNode;
  faults: Readonly<Record<string, string>>;
}) {
  const [tls, setTls] = useState<Encryption>(config.tls ?? 'starttls');
  return (
    <>
      {field('host', 'Mail server', config.host, { placeholder: 'mail.example.org' })}
      <div className="grid grid-cols-2 gap-3 max-md:grid-cols-1">
        <Select
          {...{ label: 'Encryption', name: 'tls', value: tls, error: faults.tls }}
          hint={tls === 'none' ? 'Others on the way can read the mails.' : undefined}
          onChange={({ target: { value } }) => setTls(encryptionOf(value))}
        >
          {Object.entries(ENCRYPTIONS).map(([value, word]) => (
            <option key={value} value={value}>
              {word}
            </option>
          ))}
        </Select>
        <Field
          {...PLAIN}
          key={tls}
          {...{ label: 'Port', name: 'port', type: 'number', min: 1, max: 65_535, error: faults.port }}
          defaultValue={tls === config.tls ? config.port : USUAL_PORTS[tls]}
        />
      </div>
      {field('from', 'Sender', config.from, { type: 'email', placeholder: 'tidegate@example.org' })}
      <TextArea
        {...{ label: 'Recipients', name: 'to', required: true, rows: 2, spellCheck: false, error: faults.to }}
        defaultValue={config.to?.join('\n')}
        hint="One address per line."
      />
      {field('user', 'User', config.user ?? undefined, {
        required: false,
        hint: 'Leave empty if the mail server needs no login.',
      })}
    </>
  );
}

function AllowHttp({ checked = false }: { checked?: boolean | undefined }) {
  return (
    <CheckBox name="allow_http" defaultChecked={checked}>
      Also http://, where others on the way can read it
    </CheckBox>
  );
}
