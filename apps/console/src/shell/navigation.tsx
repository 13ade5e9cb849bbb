import type { Role } from '@tidegate/protocol/states';
import {
  Activity,
  ArrowUpCircle,
  Bell,
  CalendarCheck,
  CalendarDays,
  CalendarOff,
  Gauge,
  GitFork,
  KeyRound,
  Layers,
  LayoutDashboard,
  ListChecks,
  Lock,
  MessageSquareWarning,
  Package,
  Plug,
  Power,
  Server,
  Settings,
  ShieldAlert,
  SquareTerminal,
  TriangleAlert,
  UserCog,
  Warehouse,
} from 'lucide-react';
import type { ReactNode } from 'react';

/** The parts of the menu, in its order. */
export const GROUPS = [
  'Today',
  'Vulnerabilities and updates',
  'Hosts',
  'Activity',
  'Administration',
] as const;
export type Group = (typeof GROUPS)[number];

export interface Destination {
  readonly to: string;
  readonly label: string;
  readonly group: Group;
  readonly icon: ReactNode;
  readonly shortcut?: string;
  readonly role: Role;
  /** About the whole fleet, so not for operators bound to groups. */
  readonly isOfFleet?: true;
}

type Entry = Omit<Destination, 'group'>;

const TODAY: readonly Entry[] = [
  { to: '/', label: 'Overview', icon: <LayoutDashboard />, shortcut: 'g o', role: 'viewer' },
  { to: '/calendar', label: 'Calendar', icon: <CalendarDays />, role: 'viewer', isOfFleet: true },
];

const UPDATES: readonly Entry[] = [
  { to: '/vulnerabilities', label: 'Vulnerabilities', icon: <ShieldAlert />, role: 'viewer' },
  { to: '/updates', label: 'Updates', icon: <ArrowUpCircle />, shortcut: 'g u', role: 'viewer' },
  { to: '/packages', label: 'Packages', icon: <Package />, shortcut: 'g p', role: 'viewer' },
  { to: '/unfixed', label: 'No fix', icon: <TriangleAlert />, role: 'viewer' },
  { to: '/rollouts', label: 'Rollouts', icon: <Layers />, role: 'viewer', isOfFleet: true },
  { to: '/divergences', label: 'Divergences', icon: <GitFork />, role: 'viewer', isOfFleet: true },
];

const HOSTS: readonly Entry[] = [
  { to: '/hosts', label: 'Hosts', icon: <Server />, shortcut: 'g h', role: 'viewer' },
  { to: '/reboots', label: 'Reboots', icon: <Power />, role: 'viewer', isOfFleet: true },
  { to: '/enrolment', label: 'Add hosts', icon: <Plug />, role: 'admin' },
];

const ACTIVITY: readonly Entry[] = [
  { to: '/commands', label: 'Commands', icon: <SquareTerminal />, shortcut: 'g c', role: 'viewer' },
  { to: '/events', label: 'Events', icon: <Activity />, shortcut: 'g e', role: 'viewer' },
];

const ADMINISTRATION: readonly Entry[] = [
  { to: '/policies', label: 'Policies', icon: <CalendarCheck />, role: 'viewer', isOfFleet: true },
  { to: '/blackouts', label: 'Blackouts', icon: <CalendarOff />, role: 'viewer', isOfFleet: true },
  { to: '/holds', label: 'Holds', icon: <Lock />, role: 'viewer', isOfFleet: true },
  { to: '/exceptions', label: 'Age exceptions', icon: <ListChecks />, role: 'viewer', isOfFleet: true },
  { to: '/statements', label: 'Statements', icon: <MessageSquareWarning />, role: 'viewer', isOfFleet: true },
  { to: '/origins', label: 'Third-party origins', icon: <Warehouse />, role: 'viewer', isOfFleet: true },
  {
    to: '/signing-keys',
    label: 'Signing keys',
    icon: <KeyRound />,
    shortcut: 'g k',
    role: 'viewer',
    isOfFleet: true,
  },
  { to: '/rate-limits', label: 'Rate limits', icon: <Gauge />, role: 'admin', isOfFleet: true },
  { to: '/notifications', label: 'Notifications', icon: <Bell />, role: 'admin', isOfFleet: true },
  { to: '/operators', label: 'Operators', icon: <UserCog />, role: 'admin', isOfFleet: true },
  { to: '/settings', label: 'Settings', icon: <Settings />, shortcut: 'g s', role: 'viewer' },
];

const ENTRIES: Readonly<Record<Group, readonly Entry[]>> = {
  Today: TODAY,
  'Vulnerabilities and updates': UPDATES,
  Hosts: HOSTS,
  Activity: ACTIVITY,
  Administration: ADMINISTRATION,
};

/** The pages, in the order of the menu. */
export const DESTINATIONS: readonly Destination[] = GROUPS.flatMap((group) =>
  ENTRIES[group].map((entry) => ({ ...entry, group })),
);
