import { type FormEvent, useState } from 'react';
import { ApiError, post } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button } from '../ui/button.tsx';
import { Field } from '../ui/field.tsx';
import { Panel } from '../ui/page.tsx';
import { toast } from '../ui/toasts.tsx';

/** Changes the operator's own password; their other sessions end. */
export function OwnPassword() {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | undefined>();
  const change = async (form: HTMLFormElement) => {
    const given = new FormData(form);
    if (given.get('new_password') !== given.get('repeated'))
      return setFailure('The two new passwords differ.');
    setBusy(true);
    setFailure(undefined);
    try {
      const body = {
        current_password: given.get('current_password'),
        new_password: given.get('new_password'),
      };
      await withStepUp(() => post('/api/v1/auth/password', body));
      form.reset();
      toast('Your password is changed; your other sessions have ended.');
      await queryClient.invalidateQueries({ queryKey: ['session'] });
    } catch (error) {
      setFailure(error instanceof ApiError ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void change(event.currentTarget);
  };
  return (
    <Panel title="Password">
      <form className="space-y-3" onSubmit={submit}>
        <Field
          label="Current password"
          name="current_password"
          type="password"
          autoComplete="current-password"
          required
          maxLength={256}
        />
        <Field
          label="New password"
          name="new_password"
          type="password"
          autoComplete="new-password"
          hint="15 to 256 characters, or 8 with a second factor"
          required
          minLength={8}
          maxLength={256}
        />
        <Field
          label="New password again"
          name="repeated"
          type="password"
          autoComplete="new-password"
          required
          error={failure}
        />
        <Button type="submit" busy={busy}>
          Change the password
        </Button>
      </form>
    </Panel>
  );
}
