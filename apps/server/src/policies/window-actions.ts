import type { PolicyRequest, PolicyWindow, WindowAction } from '@tidegate/protocol/policies-api';

/** What policies do by themselves, and so what a window is for that does not say it. */
const DONE = ['install', 'restart_services', 'reboot'] as const satisfies readonly WindowAction[];
type Done = (typeof DONE)[number];

/** What a policy asks for after its installations. */
export type FollowUps = Pick<PolicyRequest, 'reboot' | 'restart_services'>;

/** The members of a policy that say what it does when. */
export type Windowed = Pick<PolicyRequest, 'windows'> & FollowUps;

const NOT_ASKED: Record<Exclude<Done, 'install'>, string> = {
  restart_services: 'must not name restart_services: the policy asks for no restarts of services',
  reboot: 'must not name reboot: the policy asks for no reboots',
};
const NO_WINDOW: Record<Done, string> = {
  install: 'must have one for install: the policy would never install anything',
  restart_services: 'must have one for restart_services: the policy would never restart any',
  reboot: 'must have one for reboot: the policy would never reboot anything',
};

export function followUpsOf({ reboot, restart_services }: FollowUps): FollowUps {
  return { ...(reboot && { reboot }), ...(restart_services && { restart_services }) };
}

/** Whether a policy ever does this by itself. */
export function does({ reboot, restart_services: services }: FollowUps, action: WindowAction): boolean {
  switch (action) {
    case 'install':
      return true;
    case 'restart_services':
      return services === 'needed';
    case 'reboot':
      return reboot !== undefined && reboot.when !== 'never';
    case 'update_agent':
      return false;
  }
}

export function allowsAction({ actions }: Pick<PolicyWindow, 'actions'>, action: WindowAction): boolean {
  const allowed: readonly WindowAction[] = actions ?? DONE;
  return allowed.includes(action);
}

/** What a policy does in a window. */
export function actionsOf(window: Pick<PolicyWindow, 'actions'>, policy: FollowUps): WindowAction[] {
  return DONE.filter((action) => allowsAction(window, action) && does(policy, action));
}

/** What is wrong with what the windows are for, and where: nothing may be promised that would never happen. */
export function actionsFault(policy: Windowed): { path: string; message: string } | null {
  const { windows } = policy;
  if (windows.length === 0) return null;
  for (const [i, window] of windows.entries()) {
    const { actions = [], catch_up_hours: hours } = window;
    if (hours !== undefined && !allowsAction(window, 'install')) {
      const message = 'must not be given: the window is not for installing';
      return { path: `/windows/${i}/catch_up_hours`, message };
    }
    const path = `/windows/${i}/actions`;
    for (const action of actions) {
      if (action === 'update_agent') {
        return { path, message: 'must not name update_agent: no policy updates agents by itself' };
      }
      if (action !== 'install' && !does(policy, action)) return { path, message: NOT_ASKED[action] };
    }
  }
  const missing = DONE.find(
    (action) => does(policy, action) && !windows.some((window) => allowsAction(window, action)),
  );
  return missing === undefined ? null : { path: '/windows', message: NO_WINDOW[missing] };
}
