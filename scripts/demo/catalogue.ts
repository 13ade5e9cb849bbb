/** The systems of the demo's hosts, as os-release and OSV name them. */
export const SYSTEMS = {
  debian: {
    os: { family: 'debian', id: 'debian', version_id: '12', arch: 'x86_64' },
    ecosystem: 'apt',
    arch: 'amd64',
    origin: 'Debian:bookworm-security',
    osv: 'Debian:12',
  },
  alma: {
    os: { family: 'rhel', id: 'almalinux', version_id: '9.6', arch: 'x86_64' },
    ecosystem: 'dnf',
    arch: 'x86_64',
    origin: 'baseos',
    osv: 'AlmaLinux:9',
  },
} as const;
export type SystemName = keyof typeof SYSTEMS;

/** Packages that every host of a system has at the beginning. */
export const BASE: Readonly<Record<SystemName, Readonly<Record<string, string>>>> = {
  debian: {
    apt: '2.6.1',
    'base-files': '12.4+deb12u11',
    bash: '5.2.15-2+b8',
    'ca-certificates': '20230311+deb12u1',
    coreutils: '9.1-1',
    curl: '7.88.1-10+deb12u12',
    dbus: '1.14.10-1~deb12u1',
    git: '1:2.39.5-0+deb12u2',
    gnupg: '2.2.40-1.1+deb12u1',
    'krb5-locales': '1.20.1-2+deb12u3',
    libc6: '2.36-9+deb12u10',
    libcurl4: '7.88.1-10+deb12u12',
    libexpat1: '2.5.0-1+deb12u1',
    libgnutls30: '3.7.9-2+deb12u4',
    libssl3: '3.0.16-1~deb12u1',
    libsystemd0: '252.38-1~deb12u1',
    libxml2: '2.9.14+dfsg-1.3~deb12u2',
    'linux-image-amd64': '6.1.140-1',
    'openssh-client': '1:9.2p1-2+deb12u6',
    'openssh-server': '1:9.2p1-2+deb12u6',
    openssl: '3.0.16-1~deb12u1',
    'perl-base': '5.36.0-7+deb12u2',
    'python3.11': '3.11.2-6+deb12u6',
    rsync: '3.2.7-1+deb12u2',
    sudo: '1.9.13p3-1+deb12u1',
    systemd: '252.38-1~deb12u1',
    tzdata: '2025b-0+deb12u1',
    'vim-common': '2:9.0.1378-2+deb12u2',
    'xz-utils': '5.4.1-1',
    zlib1g: '1:1.2.13.dfsg-1',
  },
  alma: {
    bash: '5.1.8-9.el9',
    coreutils: '8.32-39.el9',
    curl: '7.76.1-31.el9',
    expat: '2.5.0-5.el9_6',
    glibc: '2.34-168.el9_6.14',
    gnutls: '3.8.3-6.el9',
    kernel: '5.14.0-570.12.1.el9_6',
    'krb5-libs': '1.21.1-6.el9',
    libxml2: '2.9.13-9.el9_6',
    'openssh-server': '8.7p1-45.el9',
    openssl: '1:3.2.2-6.el9_5.1',
    podman: '5:5.4.0-9.el9_6',
    python3: '3.9.21-2.el9',
    sudo: '1.9.5p2-10.el9_3',
    systemd: '252-51.el9',
    tzdata: '2025b-1.el9',
    zlib: '1.2.11-40.el9',
  },
};

/** Packages of some hosts only, by group. */
export const OF_GROUP: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  web: { nginx: '1.22.1-9+deb12u1', 'php8.2-fpm': '8.2.28-1~deb12u1' },
  db: { 'postgresql-15': '15.12-0+deb12u2', pgbouncer: '1.18.0-1' },
  office: { cups: '2.4.2-3+deb12u8', samba: '2:4.17.12+dfsg-0+deb12u1' },
};

/** A version that the archives offer from a day on. Days count from the beginning of the history. */
export interface Release {
  readonly day: number;
  readonly system: SystemName;
  readonly name: string;
  readonly to: string;
  readonly security: boolean;
  /** Source package, where it has another name. */
  readonly source?: string;
  readonly kernel?: true;
  /** Restarting these services would end the use of the old files. */
  readonly services?: readonly string[];
}

const fix = (day: number, name: string, to: string, more: Partial<Release> = {}): Release => ({
  ...{ day, system: 'debian', name, to, security: true },
  ...more,
});
const alma = (day: number, name: string, to: string, more: Partial<Release> = {}): Release =>
  fix(day, name, to, { system: 'alma', ...more });

export const RELEASES: readonly Release[] = [
  fix(0, 'tzdata', '2025b-0+deb12u2', { security: false }),
  fix(0, 'base-files', '12.4+deb12u12', { security: false }),
  alma(0, 'tzdata', '2025c-1.el9', { security: false }),
  fix(2, 'curl', '7.88.1-10+deb12u13'),
  fix(2, 'libcurl4', '7.88.1-10+deb12u13', { source: 'curl' }),
  alma(3, 'curl', '7.76.1-31.el9_6.1'),
  fix(5, 'libxml2', '2.9.14+dfsg-1.3~deb12u4'),
  alma(6, 'libxml2', '2.9.13-12.el9_6'),
  fix(8, 'openssh-server', '1:9.2p1-2+deb12u7', { source: 'openssh', services: ['ssh.service'] }),
  fix(8, 'openssh-client', '1:9.2p1-2+deb12u7', { source: 'openssh' }),
  fix(11, 'sudo', '1.9.13p3-1+deb12u2'),
  alma(11, 'sudo', '1.9.5p2-10.el9_6.1'),
  fix(14, 'linux-image-amd64', '6.1.147-1', { source: 'linux', kernel: true }),
  alma(15, 'kernel', '5.14.0-570.28.1.el9_6', { kernel: true }),
  fix(17, 'nginx', '1.22.1-9+deb12u2', { services: ['nginx.service'] }),
  fix(18, 'libgnutls30', '3.7.9-2+deb12u5', { source: 'gnutls28' }),
  fix(19, 'python3.11', '3.11.2-6+deb12u7'),
  fix(20, 'postgresql-15', '15.13-0+deb12u1', { services: ['postgresql@15-main.service'] }),
  alma(21, 'glibc', '2.34-168.el9_6.20'),
  fix(22, 'libc6', '2.36-9+deb12u11', { source: 'glibc' }),
  fix(24, 'libexpat1', '2.5.0-1+deb12u2', { source: 'expat' }),
  alma(25, 'expat', '2.5.0-5.el9_6.1'),
  fix(26, 'git', '1:2.39.5-0+deb12u3'),
  fix(27, 'openssl', '3.0.17-1~deb12u3'),
  fix(27, 'libssl3', '3.0.17-1~deb12u3', { source: 'openssl' }),
  alma(27, 'openssl', '1:3.2.2-6.el9_6.2'),
  fix(28, 'php8.2-fpm', '8.2.29-1~deb12u1', { source: 'php8.2', services: ['php8.2-fpm.service'] }),
  fix(28, 'samba', '2:4.17.12+dfsg-0+deb12u2'),
  fix(29, 'vim-common', '2:9.0.1378-2+deb12u3', { source: 'vim', security: false }),
  fix(29, 'rsync', '3.2.7-1+deb12u3'),
];

/** A made-up vulnerability: its day, the packages that it is in, and what fixes it where something does. */
export interface Vulnerability {
  readonly day: number;
  readonly cve: string;
  readonly advisory: string;
  readonly system: SystemName;
  readonly source: string;
  readonly vulnerable: readonly string[];
  readonly fixed: string | null;
  readonly vector: string;
  readonly summary: string;
  /** The day on which CISA lists it as exploited. */
  readonly exploitedDay?: number;
  readonly epss: number;
}

const CRITICAL = 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H';
const HIGH = 'CVSS:3.1/AV:N/AC:L/PR:N/UI:R/S:U/C:H/I:H/A:H';
const MEDIUM = 'CVSS:3.1/AV:N/AC:H/PR:N/UI:N/S:U/C:L/I:L/A:N';
const LOCAL = 'CVSS:3.1/AV:L/AC:L/PR:L/UI:N/S:U/C:H/I:H/A:H';

const hole = (
  [day, cve, source]: readonly [day: number, cve: string, source: string],
  more: Omit<Vulnerability, 'day' | 'cve' | 'source' | 'system' | 'advisory'> & Partial<Vulnerability>,
): Vulnerability => ({
  ...{ day, cve, source, system: 'debian', advisory: `DSA-${cve.slice(-4)}-1` },
  ...more,
});

export const VULNERABILITIES: readonly Vulnerability[] = [
  hole([2, 'CVE-2026-31021', 'curl'], {
    ...{ vulnerable: ['7.88.1-10+deb12u12'], fixed: '7.88.1-10+deb12u13', vector: MEDIUM, epss: 0.012 },
    summary: 'a redirect to another host sends the credentials along',
  }),
  hole([8, 'CVE-2026-38817', 'openssh'], {
    ...{ vulnerable: ['1:9.2p1-2+deb12u6'], fixed: '1:9.2p1-2+deb12u7', vector: CRITICAL, epss: 0.91 },
    ...{ exploitedDay: 10, summary: 'a race in the signal handler lets strangers run code as root' },
  }),
  hole([11, 'CVE-2026-40113', 'sudo'], {
    ...{ vulnerable: ['1.9.13p3-1+deb12u1'], fixed: '1.9.13p3-1+deb12u2', vector: LOCAL, epss: 0.31 },
    ...{ exploitedDay: 13, summary: 'the option --chroot lets local users become root' },
  }),
  hole([14, 'CVE-2026-41250', 'linux'], {
    ...{ vulnerable: ['6.1.140-1'], fixed: '6.1.147-1', vector: LOCAL, epss: 0.04 },
    summary: 'use after free in the netfilter subsystem',
  }),
  hole([17, 'CVE-2026-42007', 'nginx'], {
    ...{ vulnerable: ['1.22.1-9+deb12u1'], fixed: '1.22.1-9+deb12u2', vector: HIGH, epss: 0.22 },
    summary: 'a crafted HTTP/2 request crashes the worker and may run code',
  }),
  hole([20, 'CVE-2026-42990', 'postgresql-15'], {
    ...{ vulnerable: ['15.12-0+deb12u2'], fixed: '15.13-0+deb12u1', vector: HIGH, epss: 0.03 },
    summary: 'a quoting function passes invalid encodings to psql',
  }),
  hole([24, 'CVE-2026-44121', 'expat'], {
    ...{ vulnerable: ['2.5.0-1+deb12u1'], fixed: '2.5.0-1+deb12u2', vector: HIGH, epss: 0.08 },
    summary: 'deeply nested entities exhaust the stack',
  }),
  hole([27, 'CVE-2026-45555', 'openssl'], {
    ...{ vulnerable: ['3.0.16-1~deb12u1'], fixed: '3.0.17-1~deb12u3', vector: CRITICAL, epss: 0.78 },
    ...{ exploitedDay: 28, summary: 'a certificate with a long name overwrites memory during the handshake' },
  }),
  hole([27, 'CVE-2026-45556', 'openssl'], {
    ...{ system: 'alma', advisory: 'ALSA-2026:45556', vulnerable: ['1:3.2.2-6.el9_5.1'] },
    ...{ fixed: '1:3.2.2-6.el9_6.2', vector: HIGH, epss: 0.11 },
    summary: 'the server takes a renegotiation that it should refuse',
  }),
  hole([28, 'CVE-2026-45801', 'php8.2'], {
    ...{ vulnerable: ['8.2.28-1~deb12u1'], fixed: '8.2.29-1~deb12u1', vector: HIGH, epss: 0.17 },
    summary: 'a crafted upload writes outside its folder',
  }),
  // Nothing fixes these.
  hole([16, 'CVE-2026-41777', 'cups'], {
    ...{ vulnerable: ['2.4.2-3+deb12u8'], fixed: null, vector: CRITICAL, epss: 0.64 },
    ...{ exploitedDay: 19, summary: 'a print job runs commands as the user of the printer service' },
  }),
  hole([12, 'CVE-2026-40660', 'zlib'], {
    ...{ vulnerable: ['1:1.2.13.dfsg-1'], fixed: null, vector: MEDIUM, epss: 0.004 },
    summary: 'a crafted archive reads beyond its buffer',
  }),
  // The new version has a hole of its own, so the update is stopped.
  hole([29, 'CVE-2026-46010', 'rsync'], {
    ...{ vulnerable: ['3.2.7-1+deb12u3'], fixed: null, vector: HIGH, epss: 0.02 },
    summary: 'the new check of paths can be led out of the module by a link',
  }),
];

/** Hosts by name, with their group. */
export const HOSTS: readonly { name: string; group: string; system: SystemName }[] = [
  ...many('lab', 2, 'debian'),
  { name: 'lab-03', group: 'lab', system: 'alma' },
  ...many('web', 8, 'debian'),
  ...many('db', 4, 'debian'),
  ...many('app', 6, 'alma'),
  ...['mail-01', 'print-01', 'files-01', 'vpn-01'].map(
    (name) => ({ name, group: 'office', system: 'debian' }) as const,
  ),
];

function many(group: string, count: number, system: SystemName) {
  return Array.from({ length: count }, (_, i) => ({
    ...{ name: `${group}-${String(i + 1).padStart(2, '0')}`, group, system },
  }));
}
