import {
  INVENTORY_MAX_BYTES,
  INVENTORY_MAX_PACKAGES,
  INVENTORY_MAX_UPDATES,
  INVENTORY_PARTS_MAX_BYTES,
  INVENTORY_PARTS_MAX_PACKAGES,
  INVENTORY_PARTS_MAX_UPDATES,
} from '@tidegate/protocol/agent-api';
import { Refusal } from '../platform/http/refusal.ts';

interface Limits {
  packages: number;
  updates: number;
  bytes: number;
}

export const ONE_REQUEST: Limits = {
  packages: INVENTORY_MAX_PACKAGES,
  updates: INVENTORY_MAX_UPDATES,
  bytes: INVENTORY_MAX_BYTES,
};
export const ALL_PARTS: Limits = {
  packages: INVENTORY_PARTS_MAX_PACKAGES,
  updates: INVENTORY_PARTS_MAX_UPDATES,
  bytes: INVENTORY_PARTS_MAX_BYTES,
};

/** The limit that a report exceeds, and how to send it in parts if the limit is that of one request. */
export function tooLarge(
  where: 'in one request' | 'in all parts',
  { packages, updates, bytes }: Limits,
): Refusal {
  return new Refusal('inventory_too_large', {
    detail: `A report may have at most ${packages} packages, ${updates} updates and ${bytes} bytes ${where}.`,
    extra: {
      max_packages: packages,
      max_bytes: bytes,
      ...(where === 'in one request' && {
        in_parts:
          'PUT /api/v1/agents/{agent_id}/inventory/{ecosystem}/parts/{report_sha256}/{part}?parts={n}',
      }),
    },
  });
}
