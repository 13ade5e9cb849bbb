import { actionsOf, type Windowed } from '../policies/window-actions.ts';

/** The windows of a policy as lines of a plan: when each opens, and what the policy does in it. */
export function windowLines(policy: Windowed): string[] {
  const { windows } = policy;
  if (windows.length === 0) return [`  at any time: ${actionsOf({}, policy).join(', ')}`];
  return windows.map((window) => {
    const {
      rrule,
      starts_on: startsOn,
      start,
      zone,
      duration_minutes: minutes,
      catch_up_hours: hours,
    } = window;
    const dates = rrule === null ? startsOn : `${rrule} from ${startsOn}`;
    const caughtUp = hours === undefined ? '' : ` + ${hours} h to catch up`;
    const actions = actionsOf(window, policy).join(', ');
    return `  window: ${dates} ${start} ${zone}, ${minutes} min${caughtUp}: ${actions}`;
  });
}
