import type { Due } from '../calendar/count-due.ts';
import { createNotifier } from '../notifications/background.ts';
import { mountChannels } from '../notifications/channel-routes.ts';
import { sendMessage } from '../notifications/channels/send-message.ts';
import { createDeliverer } from '../notifications/deliver.ts';
import { mountDeliveries } from '../notifications/delivery-routes.ts';
import type { NotificationDeps } from '../notifications/deps.ts';
import { mountRules } from '../notifications/rule-routes.ts';
import { createDestinations } from '../platform/destinations.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Fresh } from '../platform/keep-fresh.ts';
import { createOutgoing } from '../platform/outgoing.ts';
import type { Sources } from './open-sources.ts';
import type { Opening } from './parts.ts';

const TICK_MS = 1_000;

type Notifications = NotificationDeps & { readonly stopped: AbortSignal };

/** What decides which notifications are sent, and what delivers them. */
export function openNotifications(
  { config, platform, secrets, background, workOfOne }: Opening,
  { due, advisories }: { due: Fresh<Due> } & Pick<Sources, 'advisories'>,
): Notifications {
  const destinations = createDestinations(config.privateDestinations);
  const dispatcher = createOutgoing({ destinations });
  const closing = new AbortController();
  const deps = {
    ...{ platform, channelKey: secrets.notificationChannels, send: sendMessage },
    outgoing: { dispatcher, destinations, ca: null },
    base: config.baseUrl?.replace(/\/+$/, '') ?? null,
  };
  const advisoryMaxAgeMs = config.advisoryMaxAgeHours * 3_600_000;
  workOfOne.use('notifications', (fenced) =>
    createNotifier({ ...deps, platform: fenced, due }, { advisories, advisoryMaxAgeMs, tickMs: TICK_MS }),
  );
  background.useOutgoing('deliveries', createDeliverer(deps, { tickMs: TICK_MS }));
  background.useOutgoing('calls of channels', {
    async stop() {
      closing.abort();
      await dispatcher.destroy();
    },
  });
  return { ...deps, stopped: closing.signal };
}

export function mountNotifications(routes: Routes, notifications: Notifications): void {
  mountChannels(routes, notifications);
  mountRules(routes, notifications.platform);
  mountDeliveries(routes, notifications.platform);
}
