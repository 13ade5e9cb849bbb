/** What ends an interrupted transaction, for people. */
export const MEND_DNF = 'as root: run `dnf check`, then `dnf remove --duplicates`';
