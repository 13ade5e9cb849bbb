import { sendDiscord } from './discord.ts';
import { sendMatrix } from './matrix.ts';
import type { Channel, Message, SenderDeps, SendOutcome } from './message.ts';
import { sendNtfy } from './ntfy.ts';
import { sendSlack } from './slack.ts';
import { sendMail } from './smtp.ts';
import { sendTeams } from './teams.ts';
import { sendTelegram } from './telegram.ts';
import { sendWebhook } from './webhook.ts';

/** One attempt. What goes wrong on the way or at the receiver is an outcome, never an exception. */
export async function sendMessage(
  { config, secret }: Channel,
  message: Message,
  deps: SenderDeps,
): Promise<SendOutcome> {
  if (config.kind === 'smtp') return sendMail(config, { secret, message }, deps);
  if (config.kind === 'ntfy') return sendNtfy(config, { secret, message }, deps);
  if (secret === null) return withoutSecret;
  switch (config.kind) {
    case 'webhook':
      return sendWebhook(config, { secret, message }, deps);
    case 'slack':
      return sendSlack({ secret, message }, deps);
    case 'teams':
      return sendTeams({ secret, message }, deps);
    case 'matrix':
      return sendMatrix(config, { secret, message }, deps);
    case 'discord':
      return sendDiscord({ secret, message }, deps);
    case 'telegram':
      return sendTelegram(config, { secret, message }, deps);
  }
}

const withoutSecret: SendOutcome = {
  ...{ kind: 'failed', isPermanent: true, answer: null, retryAfterMs: null },
  reason: 'The secret of the channel cannot be read. Enter it again.',
};
