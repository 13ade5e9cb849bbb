import type { PolicyRequest, PolicyWindow, WindowAction } from '@tidegate/protocol/policies-api';

/** What a window is for that does not say it, as all did before windows could. */
const UNSAID: readonly WindowAction[] = ['install', 'reboot'];

/** Why a window must not name an action: no policy would ever do it then. */
const NEVER_DONE: Partial<Record<WindowAction, string>> = {
  restart_services: 'must not name restart_services: no policy restarts services by itself',
  update_agent: 'must not name update_agent: no policy updates agents by itself',
};

type Windowed = Pick<PolicyRequest, 'windows' | 'reboot'>;

export function allowsAction({ actions }: Pick<PolicyWindow, 'actions'>, action: WindowAction): boolean {
  return (actions ?? UNSAID).includes(action);
}

/** What a policy does in a window: a window that does not say it is for reboots only where the policy asks for them. */
export function actionsOf(
  window: Pick<PolicyWindow, 'actions'>,
  policy: Pick<Windowed, 'reboot'>,
): WindowAction[] {
  return UNSAID.filter(
    (action) => allowsAction(window, action) && (action !== 'reboot' || asksForReboots(policy)),
  );
}

function asksForReboots({ reboot }: Pick<Windowed, 'reboot'>): boolean {
  return reboot !== undefined && reboot.when !== 'never';
}

/** What is wrong with what the windows are for, and where: nothing may be promised that would never happen. */
export function actionsFault(policy: Windowed): { path: string; message: string } | null {
  const { windows } = policy;
  if (windows.length === 0) return null;
  for (const [i, { actions = [] }] of windows.entries()) {
    const path = `/windows/${i}/actions`;
    for (const action of actions) {
      const message = NEVER_DONE[action];
      if (message !== undefined) return { path, message };
      if (action !== 'reboot' || asksForReboots(policy)) continue;
      return { path, message: 'must not name reboot: the policy asks for no reboots' };
    }
  }
  if (!windows.some((window) => allowsAction(window, 'install'))) {
    return {
      path: '/windows',
      message: 'must have one for install: the policy would never install anything',
    };
  }
  if (asksForReboots(policy) && !windows.some((window) => allowsAction(window, 'reboot'))) {
    return { path: '/windows', message: 'must have one for reboot: the policy would never reboot anything' };
  }
  return null;
}
