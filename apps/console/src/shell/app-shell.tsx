import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useNavigate } from '@tanstack/react-router';
import type { Health } from '@tidegate/protocol/health-api';
import { CircleUser, Search } from 'lucide-react';
import { lazy, Suspense, useEffect, useMemo, useState } from 'react';
import type { Action } from '../actions/actions.ts';
import { useActions } from '../actions/registry.ts';
import { useShortcuts } from '../actions/use-shortcuts.ts';
import { post } from '../api/client.ts';
import { followChanges, useConnection } from '../api/live.ts';
import { oneQuery, queryClient } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { StepUpPrompt } from '../login/step-up.tsx';
import { Kbd } from '../ui/button.tsx';
import { Menu } from '../ui/menu.tsx';
import { attempt, Toasts } from '../ui/toasts.tsx';
import { DESTINATIONS } from './navigation.tsx';
import { loadPreferences, setPreferences, usePreferences } from './preferences.ts';

const Palette = lazy(() => import('./palette.tsx').then(({ Palette }) => ({ default: Palette })));
const ShortcutHelp = lazy(() =>
  import('./shortcut-help.tsx').then(({ ShortcutHelp }) => ({ default: ShortcutHelp })),
);

/** The frame around every page of who is logged in: where one can go, what can be done, and whether it is live. */
export function AppShell() {
  const { session, may } = useSession();
  const navigate = useNavigate();
  const preferences = usePreferences();
  const [open, setOpen] = useState<'palette' | 'help' | null>(null);
  const username = session?.operator.username ?? '';

  useEffect(() => loadPreferences(username), [username]);
  useEffect(() => followChanges(queryClient), []);
  useShortcuts(preferences.shortcuts);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setOpen((now) => (now === 'palette' ? null : 'palette'));
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);

  const destinations = useMemo(() => DESTINATIONS.filter(({ role }) => may(role)), [may]);
  const account = useMemo((): readonly Action[] => {
    const group = 'Account';
    const { theme, density, shortcuts } = preferences;
    const nextTheme = ({ system: 'light', light: 'dark', dark: 'system' } as const)[theme];
    return [
      {
        id: 'account',
        group,
        label: 'Your account',
        isAllowed: true,
        run: () => void navigate({ to: '/account' }),
      },
      {
        id: 'theme',
        group,
        label: `Theme: ${theme}, change to ${nextTheme}`,
        isAllowed: true,
        run: () => setPreferences({ theme: nextTheme }),
      },
      {
        id: 'density',
        group,
        label: `Rows: ${density}`,
        isAllowed: true,
        run: () => setPreferences({ density: density === 'compact' ? 'comfortable' : 'compact' }),
      },
      {
        id: 'shortcuts',
        group,
        label: `Keyboard shortcuts: ${shortcuts ? 'on' : 'off'}`,
        isAllowed: true,
        run: () => setPreferences({ shortcuts: !shortcuts }),
      },
      { id: 'log-out', group, label: 'Log out', isAllowed: true, run: () => void attempt(logOut) },
    ];
  }, [preferences, navigate]);
  const actions = useMemo(
    (): readonly Action[] => [
      ...destinations.map(
        ({ to, label, icon, shortcut }): Action => ({
          id: `go ${to}`,
          group: 'Go to',
          label,
          icon,
          ...(shortcut ? { shortcut } : {}),
          isAllowed: true,
          run: () => void navigate({ to }),
        }),
      ),
      {
        id: 'help',
        group: 'Help',
        label: 'Keyboard shortcuts',
        shortcut: '?',
        isAllowed: true,
        run: () => setOpen('help'),
      },
      ...account,
    ],
    [destinations, account, navigate],
  );
  useActions(actions);

  return (
    <div className="grid min-h-screen grid-cols-[13.5rem_1fr] max-md:grid-cols-1">
      <a
        href="#main"
        className="sr-only z-50 rounded bg-raised px-3 py-2 focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        Skip to the content
      </a>
      <aside className="sticky top-0 flex h-screen flex-col border-r border-line bg-surface max-md:static max-md:h-auto">
        <div className="flex items-center gap-2 px-4 pt-4 pb-3 text-base font-semibold">
          <img src="/icon.svg" alt="" className="size-6" />
          Tidegate
        </div>
        <div className="px-3 pb-2">
          <button
            type="button"
            onClick={() => setOpen('palette')}
            className="flex min-h-8 w-full items-center gap-2 rounded-md border border-line-strong/60 px-2 text-muted hover:bg-sunken"
          >
            <Search aria-hidden="true" className="size-4" />
            <span className="flex-1 text-left">
              Search<span className="sr-only"> or act</span>
            </span>
            <Kbd text="Ctrl K" />
          </button>
        </div>
        <nav aria-label="Pages" className="flex-1 overflow-y-auto px-2 max-md:flex max-md:flex-wrap">
          {destinations.map(({ to, label, icon }) => (
            <Link
              key={to}
              to={to}
              activeOptions={{ exact: to === '/', includeSearch: false }}
              className="flex min-h-8 items-center gap-2.5 rounded-md px-2 py-1 text-text no-underline hover:bg-sunken hover:no-underline aria-[current=page]:bg-accent-soft aria-[current=page]:font-semibold aria-[current=page]:text-accent"
            >
              <span aria-hidden="true" className="[&>svg]:size-4">
                {icon}
              </span>
              {label}
            </Link>
          ))}
        </nav>
        <div className="border-t border-line p-2">
          <Menu
            actions={account}
            trigger={
              <button
                type="button"
                className="flex min-h-9 w-full items-center gap-2 rounded-md px-2 text-left hover:bg-sunken"
              >
                <CircleUser aria-hidden="true" className="size-4.5 shrink-0" />
                <span className="min-w-0 flex-1 truncate">{username}</span>
                <span className="text-[0.85rem] text-muted">{session?.operator.role}</span>
              </button>
            }
          />
          <ServerLine />
        </div>
      </aside>
      <main id="main" tabIndex={-1} className="min-w-0 outline-none">
        <Outlet />
      </main>
      <Suspense>
        {open === 'palette' && <Palette onClose={() => setOpen(null)} />}
        {open === 'help' && <ShortcutHelp onClose={() => setOpen(null)} />}
      </Suspense>
      <StepUpPrompt />
      <Toasts />
    </div>
  );
}

const CONNECTIONS = {
  live: ['bg-good', 'Live'],
  polling: ['bg-warn', 'Asking every 15 s'],
  offline: ['bg-bad', 'The server does not answer'],
} as const;

/** Version of the server (E6), and whether what is on screen follows it. */
function ServerLine() {
  const connection = useConnection();
  const { data } = useQuery(oneQuery<Health>('overview', '/api/health'));
  const [colour, word] = CONNECTIONS[connection];
  return (
    <p className="flex flex-wrap items-center gap-x-2 px-2 pt-1 text-[0.85rem] text-muted">
      <span role="status" className="inline-flex items-center gap-1.5">
        <span aria-hidden="true" className={`size-2 rounded-full ${colour}`} />
        {word}
      </span>
      <span>{data ? `v${data.version}` : ''}</span>
      {data?.status === 'degraded' && <span className="text-warn">degraded</span>}
    </p>
  );
}

async function logOut(): Promise<void> {
  await post('/api/v1/auth/logout');
  // A new page: nothing of this session stays in memory.
  location.assign('/login');
}
