import { useNavigate } from '@tanstack/react-router';
import { counted } from '@tidegate/protocol/count-words';
import type { LogoutAnswer } from '@tidegate/protocol/identity-providers-api';
import { useMemo } from 'react';
import type { Action } from '../actions/actions.ts';
import { post } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { attempt } from '../ui/toasts.tsx';
import { setPreferences, usePreferences } from './preferences.ts';
import { forgetRecents } from './recents.ts';

const NEXT_THEME = { system: 'light', light: 'dark', dark: 'system' } as const;

/** The operator's own actions: account, appearance, logout. */
export function useAccountActions(): readonly Action[] {
  const navigate = useNavigate();
  const preferences = usePreferences();
  const { session } = useSession();
  const isByProvider = session?.method?.startsWith('provider') ?? false;
  const unread = session?.unread_notices ?? 0;
  return useMemo(() => {
    const { theme, density, shortcuts } = preferences;
    const action = (id: string, label: string, run: () => void): Action => ({
      ...{ id, group: 'Account', label, isAllowed: true, run },
    });
    return [
      action(
        'account',
        unread === 0 ? 'Your account' : `Your account: ${counted(unread, 'new change')}`,
        () => void navigate({ to: '/account' }),
      ),
      action('theme', `Theme: ${theme}, change to ${NEXT_THEME[theme]}`, () =>
        setPreferences({ theme: NEXT_THEME[theme] }),
      ),
      action('density', `Rows: ${density}`, () =>
        setPreferences({ density: density === 'compact' ? 'comfortable' : 'compact' }),
      ),
      action('shortcuts', `Keyboard shortcuts: ${shortcuts ? 'on' : 'off'}`, () =>
        setPreferences({ shortcuts: !shortcuts }),
      ),
      action('log-out', 'Log out', () => void attempt(() => logOut(isByProvider))),
    ];
  }, [preferences, navigate, unread, isByProvider]);
}

/** Also at the identity provider, if one opened the session. */
async function logOut(isByProvider: boolean): Promise<void> {
  forgetRecents();
  if (isByProvider) {
    const { url } = await post<LogoutAnswer>('/api/v1/auth/logout/provider');
    location.assign(url ?? '/login');
    return;
  }
  await post('/api/v1/auth/logout');
  // A full page load, so that nothing of this session stays in memory.
  location.assign('/login');
}
