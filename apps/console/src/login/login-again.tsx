import { useSession } from '../api/session.ts';
import { Dialog } from '../ui/dialog.tsx';
import { LoginForm } from './login-form.tsx';

/** The login over the page: the session has ended, and what was typed behind it stays. */
export function LoginAgain({ onDone }: { onDone: (isLoggedIn: boolean) => void }) {
  const { session } = useSession();
  return (
    <Dialog title="Log in again" onClose={() => onDone(false)}>
      <p className="mb-4 text-muted">Your session has ended. Log in to continue where you were.</p>
      <LoginForm
        username={session?.operator.username ?? ''}
        next={`${location.pathname}${location.search}`}
        onLoggedIn={({ operator }) => {
          // Somebody else must not see what is on the page.
          if (operator.id !== session?.operator.id) location.assign('/');
          else onDone(true);
        }}
      />
    </Dialog>
  );
}
