const RECORDS = 5_680;
const ENTRIES = 71_329;
const NAMES = 2_500;

/**
 * Generated advisories of the size and form of AlmaLinux's: 5,680 records with 71,329 affected packages, epochs in a
 * quarter of the fixed versions. The set is the same in every run.
 */
export function* almaLikeRecords(): Generator<{ id: string; [member: string]: unknown }> {
  for (let i = 0; i < RECORDS; i++) {
    // The first records have one more package, so that the total is right.
    const count = Math.floor(ENTRIES / RECORDS) + (i < ENTRIES % RECORDS ? 1 : 0);
    yield {
      id: `ALSA-${2021 + (i % 6)}:${i}`,
      modified: '2026-01-01T00:00:00Z',
      summary: `Important: package-${i} security update`,
      details: 'x'.repeat(1_500),
      related: [`CVE-2025-${i}`, `CVE-2025-${i + 10_000}`],
      references: [{ type: 'ADVISORY', url: `https://example.org/${i}` }],
      affected: Array.from({ length: count }, (_, n) => ({
        package: {
          ecosystem: 'AlmaLinux:9',
          name: n === 0 && i < 3 ? 'kernel' : `package-${(i * 13 + n) % NAMES}`,
        },
        ranges: [
          {
            type: 'ECOSYSTEM',
            events: [
              { introduced: '0' },
              { fixed: `${i % 4 === 0 ? `${i % 3}:` : ''}${1 + (i % 30)}.${n}.0-${1 + (i % 9)}.el9` },
            ],
          },
        ],
      })),
    };
  }
}
