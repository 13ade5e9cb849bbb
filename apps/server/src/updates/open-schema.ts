/** Open, as the index of open updates has it in its condition: neither engine takes that index for a list of bound values. */
export const isOpenUpdate = (column: string) => `${column} NOT IN ('installed', 'superseded')`;
