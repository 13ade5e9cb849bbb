import type { Attack } from './attack.ts';
import { ODD_BASE64, ODD_CONTENT, ODD_JSON, OVERSIZE } from './spelling.ts';
import { WITHHELD } from './withheld-state.ts';
import { WRONG_CHECKS } from './wrong-checks.ts';
import { DRIFTED, ODD_ARTIFACTS, ODD_TOKENS } from './wrong-files.ts';
import { CONFUSED_KEYS, TOO_FEW_SIGNATURES } from './wrong-keys.ts';
import { WRONG_REBOOTS, WRONG_RESTARTS } from './wrong-reboots.ts';
import { WRONG_REPAIRS } from './wrong-repairs.ts';
import { WRONG_SETS } from './wrong-sets.ts';
import { MISDIRECTED, MIXED } from './wrong-target.ts';
import { OUT_OF_TIME, REPLAYED, ROLLED_BACK } from './wrong-time.ts';

/** The threat table of signed documents, one row for each way that somebody may try. */
export const ATTACKS: Record<string, readonly Attack[]> = {
  'mix and match (T13)': MIXED,
  'another target or meaning (T15)': MISDIRECTED,
  'sets of updates': WRONG_SETS,
  repairs: WRONG_REPAIRS,
  'probes and hooks': WRONG_CHECKS,
  reboots: WRONG_REBOOTS,
  'restarts of services': WRONG_RESTARTS,
  'rollback (T11)': ROLLED_BACK,
  'freeze and clocks (T12, T16)': OUT_OF_TIME,
  'replay (T14)': REPLAYED,
  'approvals taken back, and states withheld (T12)': WITHHELD,
  'key confusion (T6, T9)': CONFUSED_KEYS,
  'too few signatures (T7)': TOO_FEW_SIGNATURES,
  'base64 in another spelling': ODD_BASE64,
  'JSON in another dialect': ODD_JSON,
  'content that this version does not take': ODD_CONTENT,
  'more than is read': OVERSIZE,
  'tokens that bind no file (A4)': ODD_TOKENS,
  'files of the job (A4)': ODD_ARTIFACTS,
  'another transaction than the approved one (A4)': DRIFTED,
};
