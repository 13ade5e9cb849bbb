/** Header names of the wire, in the lower case that Node gives. */
export const MACHINE_ID_HEADER = 'x-machine-id';
export const REQUEST_ID_HEADER = 'x-request-id';
/** Marks requests without user action, such as automatic refreshes: they do not extend the session. */
export const BACKGROUND_HEADER = 'x-background';
export const RATE_LIMIT_HEADER = 'x-ratelimit-limit';
export const RATE_REMAINING_HEADER = 'x-ratelimit-remaining';
export const RATE_RESET_HEADER = 'x-ratelimit-reset';
