import type { AgentConfig } from '../identity/config-file.ts';
import { NOW_MS, type TestFleet } from './fleet.ts';

/** The configuration of an agent that was enrolled into a test fleet. */
export function configOf(fleet: TestFleet, members: Partial<AgentConfig> = {}): AgentConfig {
  return {
    server_url: 'https://tidegate.test',
    agent_id: fleet.agentId,
    machine_id_source: 'machine-id',
    access_token: 'access-0',
    refresh_token: 'refresh-0',
    pending_request_id: null,
    trusted_keys: fleet.trusted,
    key_set: fleet.keySet({ version: 1, keys: [fleet.key.entry] }),
    highest_seq: { epoch: 0, seq: 0 },
    strict: true,
    polling: { check_in_seconds: 60, scan_seconds: 3_600 },
    ecosystems: null,
    allow_insecure_http: true,
    ...members,
  };
}

/** An access token whose claims can be read, as those of a real one; its signature is nobody's business here. */
export function accessToken(options: { issuedMs?: number; lifetimeMs?: number } = {}): string {
  const iat = Math.floor((options.issuedMs ?? NOW_MS) / 1_000);
  const claims = { iat, exp: iat + (options.lifetimeMs ?? 900_000) / 1_000 };
  return `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`;
}
