import * as agentApi from '@tidegate/protocol/agent-api';
import { BULK_MAX_UPDATES, REASON_MAX_CHARS } from '@tidegate/protocol/approvals-api';
import * as documents from '@tidegate/protocol/documents';
import { SEATS_MAX } from '@tidegate/protocol/enrolment-api';
import { PLAN_MAX_ACTIONS } from '@tidegate/protocol/plan';
import { ROOT_KEYS_MAX, ROOTS_MAX } from '@tidegate/protocol/root-document';
import { JSON_MAX_DEPTH } from '@tidegate/protocol/strict-json';
import { CLOCK_SKEW_MS } from '../../apps/agent/src/platform/clock.ts';
import { STATE_MAX_AGE_MINUTES } from '../../apps/agent/src/trust/agent-state.ts';
import { ACCESS_TOKEN_LIFETIME_SECONDS } from '../../apps/server/src/agent-credentials/access-tokens.ts';
import { REFRESH_TOKEN_LIFETIME_MS } from '../../apps/server/src/agent-credentials/refresh-tokens.ts';
import { CHECK_IN_INTERVAL_SECONDS } from '../../apps/server/src/agents/presence.ts';
import { APPROVAL_LIFETIME_MS } from '../../apps/server/src/approvals/mint-approval.ts';
import { PLAN_WAIT_MS } from '../../apps/server/src/approvals/sweep.ts';
import { DELIVERED_MAX } from '../../apps/server/src/commands/deliver-commands.ts';
import { COMMAND_LIFETIME_MS } from '../../apps/server/src/commands/queue-command.ts';
import { CHECKPOINT_INTERVAL_MS } from '../../apps/server/src/events/checkpoint-rules.ts';
import { PARTS_LIFETIME_MS } from '../../apps/server/src/inventory/take-part.ts';
import { RATIO_MAX } from '../../apps/server/src/platform/http/body.ts';
import { STARTUP_PENALTY_MS } from '../../apps/server/src/rate-limits/limiter.ts';
import { CLIENT_HOLD_MAX_MS } from '../../apps/server/src/reboot-slots/take-slot.ts';
import { STATE_MAX_AGE_MS } from '../../apps/server/src/signing-keys/key-ring.ts';
import { KEY_SET_LIFETIME_MS } from '../../apps/server/src/signing-keys/key-set.ts';

/** Sizes and numbers that docs/protocol/limits.md states. */
export const LIMITS: Readonly<Record<string, number>> = {
  COMMAND_MAX_BYTES: documents.COMMAND_MAX_BYTES,
  APPROVAL_MAX_BYTES: documents.APPROVAL_MAX_BYTES,
  APPROVAL_MAX_UPDATES: documents.APPROVAL_MAX_UPDATES,
  PLAN_MAX_ACTIONS,
  INVENTORY_MAX_BYTES: agentApi.INVENTORY_MAX_BYTES,
  INVENTORY_MAX_PACKAGES: agentApi.INVENTORY_MAX_PACKAGES,
  INVENTORY_MAX_UPDATES: agentApi.INVENTORY_MAX_UPDATES,
  INVENTORY_MAX_PARTS: agentApi.INVENTORY_MAX_PARTS,
  INVENTORY_PARTS_MAX_PACKAGES: agentApi.INVENTORY_PARTS_MAX_PACKAGES,
  INVENTORY_PARTS_MAX_UPDATES: agentApi.INVENTORY_PARTS_MAX_UPDATES,
  INVENTORY_PARTS_MAX_BYTES: agentApi.INVENTORY_PARTS_MAX_BYTES,
  DELTA_MAX_ITEMS: agentApi.DELTA_MAX_ITEMS,
  DELTA_MAX_BYTES: agentApi.DELTA_MAX_BYTES,
  BODY_MAX_BYTES: agentApi.BODY_MAX_BYTES,
  DELIVERED_MAX,
  OUTPUT_TAIL_MAX_CHARS: agentApi.OUTPUT_TAIL_MAX_CHARS,
  OUTPUT_PIECE_MAX_CHARS: agentApi.OUTPUT_PIECE_MAX_CHARS,
  OUTPUT_MAX_PIECES: agentApi.OUTPUT_MAX_PIECES,
  OUTPUT_MAX_CHARS: agentApi.OUTPUT_MAX_CHARS,
  REVOKED_TOKENS_MAX: documents.REVOKED_TOKENS_MAX,
  KEY_SETS_PAGE: documents.KEY_SETS_PAGE,
  KEY_CHAIN_MAX: documents.KEY_CHAIN_MAX,
  ROOT_KEYS_MAX,
  ROOTS_MAX,
  JSON_MAX_DEPTH,
  RATIO_MAX,
  BULK_MAX_UPDATES,
  REASON_MAX_CHARS,
  SEATS_MAX,
};

/** Times that docs/protocol/limits.md states, in seconds. */
export const TIMES: Readonly<Record<string, number>> = {
  ACCESS_TOKEN_LIFETIME: ACCESS_TOKEN_LIFETIME_SECONDS,
  REFRESH_TOKEN_LIFETIME: REFRESH_TOKEN_LIFETIME_MS / 1_000,
  COMMAND_LIFETIME: COMMAND_LIFETIME_MS / 1_000,
  APPROVAL_LIFETIME: APPROVAL_LIFETIME_MS / 1_000,
  KEY_SET_LIFETIME: KEY_SET_LIFETIME_MS / 1_000,
  STATE_MAX_AGE: STATE_MAX_AGE_MS / 1_000,
  CHECK_IN_INTERVAL: CHECK_IN_INTERVAL_SECONDS,
  CLOCK_SKEW: CLOCK_SKEW_MS / 1_000,
  AGENT_STATE_MAX_AGE: STATE_MAX_AGE_MINUTES * 60,
  PARTS_LIFETIME: PARTS_LIFETIME_MS / 1_000,
  PLAN_WAIT: PLAN_WAIT_MS / 1_000,
  STARTUP_PENALTY: STARTUP_PENALTY_MS / 1_000,
  FLEET_LOCK_HOLD: CLIENT_HOLD_MAX_MS / 1_000,
  CHECKPOINT_INTERVAL: CHECKPOINT_INTERVAL_MS / 1_000,
};
