import { strict, Uuid } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';

/** Parameters of a path that names one resource. */
export const IdPath = strict({ id: Uuid });

/** Parameters of a path on which an operator names a host: any text, so that a bad id is not found (404), not invalid. */
export const HostPath = Type.Object({ agent_id: Type.String() });
