import { useQuery } from '@tanstack/react-query';
import type {
  Passkey,
  PasskeyAdded,
  PasskeyOptions,
  RecoveryCodes,
  TotpEnrolment,
} from '@tidegate/protocol/factors-api';
import { isolated } from '@tidegate/protocol/isolated';
import { type FormEvent, type ReactNode, useState } from 'react';
import { post, remove } from '../api/client.ts';
import { listQuery, queryClient } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { arePasskeysOffered, makePasskey } from '../login/passkeys.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button } from '../ui/button.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { ConfirmDialog, Dialog, DialogFooter } from '../ui/dialog.tsx';
import { Field } from '../ui/field.tsx';
import { Panel } from '../ui/page.tsx';
import { QrCode } from '../ui/qr-code.tsx';
import { Time } from '../ui/time.tsx';
import { attempt } from '../ui/toasts.tsx';

type Open =
  | { readonly kind: 'totp'; readonly enrolment: TotpEnrolment }
  | { readonly kind: 'codes'; readonly codes: readonly string[] }
  | { readonly kind: 'remove'; readonly name: string; readonly path: string }
  | { readonly kind: 'name-passkey' };

/** The operator's own authenticator app, passkeys and recovery codes. */
export function SecondFactors() {
  const { session } = useSession();
  const [open, setOpen] = useState<Open | null>(null);
  const { data: passkeys } = useQuery(listQuery<Passkey>('session', '/api/v1/auth/passkeys'));
  const factors = session?.factors;
  const changed = () => queryClient.invalidateQueries({ queryKey: ['session'] });
  const show = async (act: () => Promise<Open | null>) => {
    const next = await attempt(() => withStepUp(act));
    await changed();
    if (next !== undefined) setOpen(next);
  };
  const addTotp = () =>
    show(async () => ({ kind: 'totp', enrolment: await post<TotpEnrolment>('/api/v1/auth/totp') }));
  const newCodes = () =>
    show(async () => {
      const { recovery_codes } = await post<RecoveryCodes>('/api/v1/auth/recovery-codes');
      return { kind: 'codes', codes: recovery_codes };
    });
  const addPasskey = (name: string) =>
    show(async () => {
      const made = await makePasskey(await post<PasskeyOptions>('/api/v1/auth/passkeys/options'));
      const { recovery_codes } = await post<PasskeyAdded>('/api/v1/auth/passkeys', { ...made, name });
      return recovery_codes === null ? null : { kind: 'codes', codes: recovery_codes };
    });

  return (
    <Panel title="Second factors">
      <ul className="divide-y divide-line">
        <Row
          name="Authenticator app"
          state={factors?.totp ? 'on' : 'off'}
          act={
            factors?.totp ? (
              <Button
                onClick={() =>
                  setOpen({ kind: 'remove', name: 'the authenticator app', path: '/api/v1/auth/totp' })
                }
              >
                Remove the app
              </Button>
            ) : (
              <Button onClick={() => void addTotp()}>Add an app</Button>
            )
          }
        />
        {passkeys?.items.map(({ id, name, last_used_at }) => (
          <Row
            key={id}
            name={`Passkey ${isolated(name)}`}
            state={
              <>
                last used <Time at={last_used_at} />
              </>
            }
            act={
              <Button
                aria-label={`Remove the passkey ${isolated(name)}`}
                onClick={() =>
                  setOpen({
                    kind: 'remove',
                    name: `the passkey ${isolated(name)}`,
                    path: `/api/v1/auth/passkeys/${id}`,
                  })
                }
              >
                Remove
              </Button>
            }
          />
        ))}
        <Row
          name="Passkeys"
          state={
            arePasskeysOffered()
              ? passkeys
                ? `${passkeys.total} registered`
                : 'not known'
              : 'not available in this browser at this address (passkeys need https or localhost)'
          }
          act={
            arePasskeysOffered() && (
              <Button onClick={() => setOpen({ kind: 'name-passkey' })}>Add a passkey</Button>
            )
          }
        />
        <Row
          name="Recovery codes"
          state={`${factors?.recovery_codes_left ?? 0} left`}
          act={
            factors &&
            (factors.totp || factors.passkeys > 0) && (
              <Button onClick={() => void newCodes()}>Create new codes</Button>
            )
          }
        />
      </ul>
      {open?.kind === 'totp' && (
        <ConfirmTotp
          enrolment={open.enrolment}
          onCodes={(codes) => setOpen({ kind: 'codes', codes })}
          onClose={() => setOpen(null)}
        />
      )}
      {open?.kind === 'codes' && <ShowCodes codes={open.codes} onClose={() => setOpen(null)} />}
      {open?.kind === 'name-passkey' && (
        <NamePasskey
          onName={(name) => {
            setOpen(null);
            void addPasskey(name);
          }}
          onClose={() => setOpen(null)}
        />
      )}
      {open?.kind === 'remove' && (
        <ConfirmDialog
          title={`Remove ${isolated(open.name)}?`}
          confirm="Remove"
          onConfirm={async () => {
            await withStepUp(() => remove(open.path));
            await changed();
          }}
          onClose={() => setOpen(null)}
        >
          <p>You will no longer be asked for it. Your other sessions end.</p>
        </ConfirmDialog>
      )}
    </Panel>
  );
}

function Row({ name, state, act }: { name: string; state: ReactNode; act: ReactNode }) {
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1 py-2">
      <div className="min-w-0">
        <p className="font-medium break-words">{name}</p>
        <p className="text-muted">{state}</p>
      </div>
      {act}
    </li>
  );
}

function ConfirmTotp({
  enrolment,
  onCodes,
  onClose,
}: {
  enrolment: TotpEnrolment;
  onCodes: (codes: readonly string[]) => void;
  onClose: () => void;
}) {
  const [failure, setFailure] = useState<string | undefined>();
  const [busy, setBusy] = useState(false);
  const confirm = async (code: FormDataEntryValue | null) => {
    setBusy(true);
    setFailure(undefined);
    try {
      const { recovery_codes } = await withStepUp(() =>
        post<RecoveryCodes>('/api/v1/auth/totp/confirm', { code }),
      );
      await queryClient.invalidateQueries({ queryKey: ['session'] });
      onCodes(recovery_codes);
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title="Add an authenticator app" onClose={onClose}>
      <form
        className="space-y-3"
        onSubmit={(event) => {
          event.preventDefault();
          void confirm(new FormData(event.currentTarget).get('code'));
        }}
      >
        <p>Scan this with the app, or enter the secret by hand. The secret is shown only once.</p>
        <QrCode text={enrolment.otpauth_uri} label="QR code for an authenticator app" />
        <CopyText text={enrolment.secret} label="Copy the secret" />
        <Field
          label="Code from the app"
          name="code"
          inputMode="numeric"
          pattern="[0-9]{6}"
          maxLength={6}
          autoComplete="one-time-code"
          required
          error={failure}
        />
        <Button type="submit" tone="primary" busy={busy}>
          Turn it on
        </Button>
      </form>
    </Dialog>
  );
}

function ShowCodes({ codes, onClose }: { codes: readonly string[]; onClose: () => void }) {
  return (
    <Dialog title="Recovery codes" onClose={onClose}>
      <div className="space-y-3">
        <p>
          Each code logs you in once if you lose your other factors. They are shown only once: store them
          where you store passwords.
        </p>
        <ul className="mono grid grid-cols-2 gap-1 rounded-md bg-sunken p-3">
          {codes.map((code) => (
            <li key={code}>{code}</li>
          ))}
        </ul>
        <CopyText text={codes.join('\n')} short="Copy all" label="Copy all codes" />
        <DialogFooter>
          <Button tone="primary" onClick={onClose}>
            I have saved them
          </Button>
        </DialogFooter>
      </div>
    </Dialog>
  );
}

function NamePasskey({ onName, onClose }: { onName: (name: string) => void; onClose: () => void }) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    onName(String(new FormData(event.currentTarget).get('name')));
  };
  return (
    <Dialog title="Add a passkey" onClose={onClose}>
      <form className="space-y-3" onSubmit={submit}>
        <Field
          label="Name"
          name="name"
          hint="A name you will recognise, such as the device"
          required
          maxLength={64}
          autoFocus
        />
        <Button type="submit" tone="primary">
          Continue
        </Button>
      </form>
    </Dialog>
  );
}
