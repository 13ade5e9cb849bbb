import type { Fault, OperationName, ProblemDetails } from '@tidegate/client/outcome';
import { plainText } from '@tidegate/terminal/plain-text';
import { showRecord } from '@tidegate/terminal/show-record';

/** Members of every problem; what else it has explains the refusal. */
const COMMON = new Set(['type', 'title', 'status', 'code', 'detail', 'request_id', 'errors', 'instance']);

export interface FaultContext {
  readonly server: string;
  /** Null: no token was sent. */
  readonly tokenFile: string | null;
  /** The problem is on the output already. */
  readonly isJson: boolean;
}

/** Why there is no answer, and what to do, in lines. */
export function faultText(fault: Fault<OperationName>, context: FaultContext): string[] {
  const { server } = context;
  switch (fault.kind) {
    case 'refused':
    case 'refused_otherwise':
      return problemText(fault.problem, context);
    case 'timeout':
      return [`${server} does not answer: ${fault.detail}. What was asked may have been done.`];
    case 'unreachable':
      return [`${server} cannot be reached: ${plainText(fault.detail)}`];
    case 'not_tidegate':
      return [`${server} answers with status ${fault.status}, but not as a Tidegate server: ${fault.detail}`];
  }
}

function problemText(problem: ProblemDetails, { tokenFile, isJson }: FaultContext): string[] {
  const { detail, code, errors = [] } = problem;
  const more = withoutEmpty(
    Object.fromEntries(Object.entries(problem).filter(([name]) => !COMMON.has(name))),
  );
  const hint = hintOf(code, tokenFile);
  return [
    plainText(detail),
    ...errors.map(({ path, message }) => plainText(`  ${path || 'the request'} ${message}`)),
    ...(isJson || Object.keys(more).length === 0
      ? []
      : showRecord(more)
          .split('\n')
          .map((line) => `  ${line}`)),
    ...(hint === null ? [] : [hint]),
  ];
}

function hintOf(code: string, tokenFile: string | null): string | null {
  switch (code) {
    case 'unauthenticated':
    case 'access_token_invalid':
    case 'access_token_expired':
      if (tokenFile === null) return 'No token was sent: give --token-file, or set TIDEGATE_TOKEN_FILE.';
      return `The token is that of ${tokenFile}. An admin makes another one in the console; "tidegatectl login" renews a session.`;
    case 'step_up_required':
      return 'Prove it with "tidegatectl step-up", and ask again.';
    default:
      return null;
  }
}

/** Without what says nothing, at every depth. */
function withoutEmpty(value: object): object {
  if (Array.isArray(value)) return value.map((each: unknown) => (isObject(each) ? withoutEmpty(each) : each));
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, each]: [string, unknown]) => {
      const inner = isObject(each) ? withoutEmpty(each) : each;
      return isEmpty(inner) ? [] : [[name, inner]];
    }),
  );
}

function isObject(value: unknown): value is object {
  return value !== null && typeof value === 'object';
}

function isEmpty(value: unknown): boolean {
  return value === null || value === false || (isObject(value) && Object.keys(value).length === 0);
}
