import {
  createRootRoute,
  createRoute,
  createRouter,
  Link,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import { ApiError } from './api/client.ts';
import { parseSearch, stringifySearch } from './api/list-search.ts';
import { queryClient } from './api/queries.ts';
import { sessionQuery } from './api/session.ts';
import { AppShell } from './shell/app-shell.tsx';
import { FailedPage, reportError } from './shell/failures.tsx';
import { WholeFleet } from './shell/whole-fleet.tsx';
import { EmptyState, ErrorPanel, Skeleton } from './ui/states.tsx';

const root = createRootRoute({ notFoundComponent: NotFound });

const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  component: lazyRouteComponent(() => import('./login/login-page.tsx'), 'LoginPage'),
});

/** Every page but the login needs a session; the requested page is kept for after the login. */
const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  component: AppShell,
  beforeLoad: async ({ location }) => {
    let needsFactor = false;
    try {
      const session = await queryClient.ensureQueryData(sessionQuery);
      needsFactor = session.needs_factor;
    } catch (error) {
      if (error instanceof ApiError && error.status === 401)
        throw redirect({ to: '/login', search: { next: location.href } });
      throw error;
    }
    if (needsFactor) throw redirect({ to: '/login', search: { step: 'factor', next: location.href } });
  },
  errorComponent: ({ error, reset }) => <ErrorPanel error={error} retry={reset} />,
});

type Load = Parameters<typeof lazyRouteComponent>[0];

/** A page in its own file, loaded when it is opened. */
function page<P extends string>(path: P, load: Load, name: string) {
  return createRoute({ getParentRoute: () => inside, path, component: lazyRouteComponent(load, name) });
}

/** The same for a page about the whole fleet. */
function fleetPage<P extends string>(
  path: P,
  { load, name, title }: { load: Load; name: string; title: string },
) {
  const Loaded = lazyRouteComponent(load, name);
  function Framed() {
    return (
      <WholeFleet title={title}>
        <Loaded />
      </WholeFleet>
    );
  }
  // Preloaded on intent, as the other pages are.
  const component = Object.assign(Framed, Loaded.preload ? { preload: Loaded.preload } : {});
  return createRoute({ getParentRoute: () => inside, path, component });
}

const routeTree = root.addChildren([
  login,
  inside.addChildren([
    page('/', () => import('./overview/overview-page.tsx'), 'OverviewPage'),
    page('/updates', () => import('./updates/updates-page.tsx'), 'UpdatesPage'),
    page('/updates/by-host', () => import('./updates/updated-hosts-page.tsx'), 'UpdatedHostsPage'),
    page('/updates/$id', () => import('./updates/update-page.tsx'), 'UpdatePage'),
    page('/notices/$id', () => import('./updates/notice-page.tsx'), 'NoticePage'),
    page('/packages', () => import('./updates/packages-page.tsx'), 'PackagesPage'),
    page(
      '/vulnerabilities',
      () => import('./vulnerabilities/vulnerabilities-page.tsx'),
      'VulnerabilitiesPage',
    ),
    page(
      '/vulnerabilities/$id',
      () => import('./vulnerabilities/vulnerability-page.tsx'),
      'VulnerabilityPage',
    ),
    page('/unfixed', () => import('./unfixed/unfixed-page.tsx'), 'UnfixedPage'),
    page('/hosts', () => import('./hosts/hosts-page.tsx'), 'HostsPage'),
    page('/hosts/$id', () => import('./hosts/host-page.tsx'), 'HostPage'),
    page('/hosts/$id/inventory', () => import('./hosts/inventory-page.tsx'), 'InventoryPage'),
    page('/hosts/$id/history', () => import('./history/history-page.tsx'), 'HistoryPage'),
    page('/updates/$id/record', () => import('./history/record-page.tsx'), 'RecordPage'),
    page('/commands', () => import('./commands/commands-page.tsx'), 'CommandsPage'),
    page('/commands/$id', () => import('./commands/command-page.tsx'), 'CommandPage'),
    page('/events', () => import('./events/events-page.tsx'), 'EventsPage'),
    page('/events/$id', () => import('./events/event-page.tsx'), 'EventPage'),
    fleetPage('/calendar', {
      load: () => import('./calendar/calendar-page.tsx'),
      name: 'CalendarPage',
      title: 'Calendar',
    }),
    fleetPage('/policies', {
      load: () => import('./policies/policies-page.tsx'),
      name: 'PoliciesPage',
      title: 'Policies',
    }),
    fleetPage('/policies/$id', {
      load: () => import('./policies/policy-page.tsx'),
      name: 'PolicyPage',
      title: 'Policy',
    }),
    fleetPage('/rollouts', {
      load: () => import('./rollouts/rollouts-page.tsx'),
      name: 'RolloutsPage',
      title: 'Rollouts',
    }),
    fleetPage('/rollouts/$id', {
      load: () => import('./rollouts/rollout-page.tsx'),
      name: 'RolloutPage',
      title: 'Rollout',
    }),
    fleetPage('/reboots', {
      load: () => import('./reboots/reboots-page.tsx'),
      name: 'RebootsPage',
      title: 'Reboots',
    }),
    fleetPage('/blackouts', {
      load: () => import('./blackouts/blackouts-page.tsx'),
      name: 'BlackoutsPage',
      title: 'Blackouts',
    }),
    fleetPage('/holds', {
      load: () => import('./holds/holds-page.tsx'),
      name: 'HoldsPage',
      title: 'Holds',
    }),
    fleetPage('/exceptions', {
      load: () => import('./exceptions/exceptions-page.tsx'),
      name: 'ExceptionsPage',
      title: 'Age exceptions',
    }),
    fleetPage('/statements', {
      load: () => import('./statements/statements-page.tsx'),
      name: 'StatementsPage',
      title: 'Vulnerability statements',
    }),
    fleetPage('/origins', {
      load: () => import('./origins/origins-page.tsx'),
      name: 'OriginsPage',
      title: 'Third-party origins',
    }),
    fleetPage('/divergences', {
      load: () => import('./divergences/divergences-page.tsx'),
      name: 'DivergencesPage',
      title: 'Divergences',
    }),
    page('/enrolment', () => import('./enrolment/enrolment-page.tsx'), 'EnrolmentPage'),
    fleetPage('/signing-keys', {
      load: () => import('./signing-keys/signing-keys-page.tsx'),
      name: 'SigningKeysPage',
      title: 'Signing keys',
    }),
    fleetPage('/rate-limits', {
      load: () => import('./rate-limits/rate-limits-page.tsx'),
      name: 'RateLimitsPage',
      title: 'Rate limits',
    }),
    fleetPage('/operators', {
      load: () => import('./operators/operators-page.tsx'),
      name: 'OperatorsPage',
      title: 'Operators',
    }),
    fleetPage('/notifications', {
      load: () => import('./notifications/channels-page.tsx'),
      name: 'ChannelsPage',
      title: 'Notifications',
    }),
    fleetPage('/notifications/rules', {
      load: () => import('./notifications/rules-page.tsx'),
      name: 'RulesPage',
      title: 'Notifications',
    }),
    fleetPage('/notifications/deliveries', {
      load: () => import('./notifications/deliveries-page.tsx'),
      name: 'DeliveriesPage',
      title: 'Notifications',
    }),
    page('/account', () => import('./account/account-page.tsx'), 'AccountPage'),
    page('/welcome', () => import('./welcome/welcome-page.tsx'), 'WelcomePage'),
    page('/settings', () => import('./settings/settings-page.tsx'), 'SettingsPage'),
  ]),
]);

/** A page that is there already must not flash. */
const PENDING_AFTER_MS = 100;

export const router = createRouter({
  routeTree,
  parseSearch,
  stringifySearch,
  defaultPreload: 'intent',
  // The page that was asked for, not the one before under its address.
  defaultPendingMs: PENDING_AFTER_MS,
  defaultPendingMinMs: 0,
  defaultPendingComponent: Pending,
  scrollRestoration: true,
  defaultErrorComponent: FailedPage,
  defaultOnCatch: (error) => reportError(error, 'ui_error'),
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

function Pending() {
  return <Skeleton rows={8} />;
}

function NotFound() {
  return <EmptyState title="There is no such page" action={<Link to="/">Go to the overview</Link>} />;
}
