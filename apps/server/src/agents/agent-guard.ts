import type { Guards } from '../platform/http/admit.ts';
import { pathAgentIdOf } from '../platform/http/create-routes.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import type { AgentDoor } from './agent-door.ts';
import { recordMismatch } from './record-mismatch.ts';

/** Adapts the agent door to the framework: refusals are thrown, and a mismatch first leaves its event. */
export function createAgentGuard({
  platform,
  door,
}: {
  platform: Platform;
  door: AgentDoor;
}): Guards['agent'] {
  return async (request, access) => {
    const entry = await door.enter(request.raw, { access, pathAgentId: pathAgentIdOf(request) });
    switch (entry.kind) {
      case 'admitted':
        return entry.caller;
      case 'refused':
        throw entry.refusal;
      case 'mismatch':
        await recordMismatch(platform, request, entry);
        throw new Refusal('unauthorized', {
          detail: 'The machine differs from the one this agent is bound to.',
        });
    }
  };
}
