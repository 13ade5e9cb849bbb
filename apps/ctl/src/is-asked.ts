import type { Asked } from '@tidegate/client/client';
import type { OperationName } from '@tidegate/client/outcome';
import { faultsOf, type Request } from './read-request.ts';

/** Whether the operation takes the request, by the schemas of the document. */
export function isAsked<K extends OperationName>(
  operation: K,
  request: Request,
): request is Request & Asked<K> {
  return faultsOf(operation, request).length === 0;
}
