/** What words mean that a newcomer to Tidegate or to vulnerabilities may not know; read where a page first uses them. */
export const TERMS = {
  kev: {
    title: 'Known to be exploited (KEV)',
    says: 'CISA, an American agency, lists vulnerabilities that attackers use. What is on this list comes first.',
  },
  epss: {
    title: 'How likely it is to be exploited (EPSS)',
    says: 'An estimate of FIRST, renewed each day: the chance that attackers use the vulnerability within 30 days.',
  },
  gate: {
    title: 'The gate',
    says: 'The checks before an approval: is the version old enough, does it bring known vulnerabilities, do its hashes agree with what others saw.',
  },
  probe: {
    title: 'Probe',
    says: 'A check that root has named on the host, such as whether its web server answers. Probes run before and after each installation.',
  },
  resync: {
    title: 'Resync',
    says: 'After a restore, a host whose credentials are newer than the database is accepted once, instead of being revoked.',
  },
  override: {
    title: 'Override',
    says: 'A person approves one update that the gate stops, with a reason that is recorded. Signatures and hashes are still checked.',
  },
  bringsOrKeeps: {
    title: 'Brings or keeps',
    says: 'The worst known vulnerability that the host has after the update. What the update removes is under “Fixes”.',
  },
  transaction: {
    title: 'Transaction',
    says: 'All that the package manager changes in one go: the packages that were asked for, and those that they need.',
  },
  token: {
    title: 'Registration token',
    says: 'A secret that lets a host join. It ends after a time or after a number of hosts, and gives no other right.',
  },
  ring: {
    title: 'Ring',
    says: 'A part of the hosts of a policy. The next ring gets a version when the hosts of the one before have shown that it works.',
  },
  hold: {
    title: 'Hold',
    says: 'A package that stays at its version on some hosts until a day. Updates of it wait, and nobody can approve them.',
  },
  blackout: {
    title: 'Blackout',
    says: 'A time in which hosts are not changed. What was approved is delivered afterwards.',
  },
  slot: {
    title: 'Slot',
    says: 'The right to be down. A group has a few: a host takes one to restart and gives it back when it is well again.',
  },
  divergence: {
    title: 'Divergence',
    says: 'Two files of the same name and version with different content. One of them may have been tampered with.',
  },
  statement: {
    title: 'Statement (VEX)',
    says: 'A person says how a vulnerability concerns the hosts, for example that the affected part is not used. It counts until its end.',
  },
  attestation: {
    title: 'Provenance and attestations',
    says: 'A signed record by whoever built a package: from which source and by which build. Evidence of Tidegate is signed in the same form.',
  },
  signingKey: {
    title: 'Signing key',
    says: 'The server signs each command with it. Hosts run only what a key that they know has signed.',
  },
} as const;

export type TermName = keyof typeof TERMS;
