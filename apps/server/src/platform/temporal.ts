import { Temporal as nativeOrPolyfill } from 'temporal-polyfill';

/** The engine's own Temporal where it has one (Node 26), a polyfill elsewhere (Node 24). */
export const Temporal = nativeOrPolyfill;
