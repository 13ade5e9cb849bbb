import { spawn } from 'node:child_process';
import type { Log } from '../log.ts';

export type Notify = (title: string, text: string) => void;

/** Notifies the desktop by `notify-send`, and logs each notice; logs once if `notify-send` is missing. */
export function createNotifier(log: Log, env: NodeJS.ProcessEnv): Notify {
  let isThere = true;
  return (title, text) => {
    log.warn('notice', { title, text });
    if (!isThere) return;
    // Everything after "--" is text, whatever it begins with.
    const args = ['--app-name=Tidegate', '--urgency=critical', '--', title, text];
    spawn('notify-send', args, { env, stdio: 'ignore' }).on('error', () => {
      isThere = false;
      log.warn('no notifications: notify-send is missing (Debian package libnotify-bin)');
    });
  };
}
