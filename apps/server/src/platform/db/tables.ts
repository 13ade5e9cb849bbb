import type { NoticeKind } from '@tidegate/protocol/notices-api';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { LoginMethod } from '@tidegate/protocol/sessions-api';
import type { Generated } from 'kysely';
import type { SealColumn } from './seal.ts';

/**
 * The columns of every table, as both engines return them: text, numbers (bigint milliseconds, 0/1 for booleans)
 * and null. JSON is text. Each table is owned by one slice, whose store.ts has its only SQL.
 */
export interface Tables {
  schema_migrations: { version: number; name: string; applied_at: number };
  fleet: { id: number; fleet_id: string; epoch: number; created_at: number };
  fleet_marks: {
    id: number;
    /** Rises for the life of the database; an epoch file has the highest that its server saw. */
    mark: number;
    key_set_floor: number;
    /** Set by `tidegate restore`, until a server has started on it. */
    restored_at: number | null;
    backup_created_at: number | null;
  };
  server_instances: { id: string; started_at: number; seen_at: number };
  resyncs: {
    id: string;
    opened_at: number;
    closes_at: number;
    closed_at: number | null;
    reason: string;
    opened_by: string;
    seal: SealColumn;
  };
  resynced_families: { resync_id: string; family_id: string; at: number };
  agents: {
    id: string;
    machine_id: string | null;
    status: 'active' | 'revoked';
    hostname: string;
    os_family: string;
    os_id: string;
    os_version_id: string;
    os_arch: string;
    agent_version: string;
    boot_id: string | null;
    uptime_seconds: number | null;
    key_set_version: number;
    next_seq: number;
    inventory_digests: string;
    group_name: string | null;
    polling_interval_seconds: number | null;
    enrolled_at: number;
    bound_at: number | null;
    revoked_at: number | null;
    deleted_at: number | null;
  };
  agent_presence: {
    agent_id: string;
    last_seen_at: number;
    silence_told?: number | null;
    /** Half hours in which the host was heard of, the newest (`beat_slot`) lowest, and where a silence ended. */
    beat_slot?: number | null;
    beats?: number | null;
    late_beats?: number | null;
  };
  served_slots: { slot: number };
  fleet_days: {
    day: string;
    as_of: number;
    open_clear: number;
    open_vulnerable: number;
    open_unchecked: number;
    open_not_judged: number;
    exposed: number;
    median_age_ms: number | null;
    p95_age_ms: number | null;
    hosts_seen: number;
  };
  bulk_runs: {
    operator_id: string;
    progress_id: string;
    state: 'running' | 'done' | 'failed';
    done: number;
    total: number;
    approved: number;
    blocked: number;
    waiting: number;
    skipped: number;
    started_at: number;
    updated_at: number;
    /** JSON of the whole answer, once it is done. */
    answer: string | null;
  };
  agent_boots: { agent_id: string; boot_id: string; address: string | null; last_seen_at: number };
  clone_suspicions: {
    agent_id: string;
    since: number;
    evidence: string;
    /** When the last event told it. */
    raised_at: number;
    closed_at: number | null;
    accepted_addresses: string;
  };
  refresh_families: {
    id: string;
    agent_id: string;
    status: 'active' | 'revoked';
    revoked_reason: string | null;
    revoked_at: number | null;
    cur_seq: number;
    cur_hash: string;
    cur_issued_at: number;
    prev_hash: string | null;
    prev_issued_at: number | null;
    prev_grace_used: number;
    displaced_hashes: string;
    request_id_hash: string | null;
    sealed_child: string | null;
    created_at: number;
    last_rotated_at: number;
    expires_at: number;
  };
  registration_tokens: {
    id: string;
    label: string;
    secret_hash: string;
    seats: number;
    seats_used: number;
    group_name: string | null;
    created_by: string;
    created_at: number;
    expires_at: number;
    deleted_at: number | null;
    seal: SealColumn;
  };
  operators: {
    id: string;
    username: string;
    password_hash: string;
    role: 'viewer' | 'approver' | 'admin';
    groups: string | null;
    created_at: number;
    disabled_at: number | null;
    seal: SealColumn;
  };
  api_tokens: {
    id: string;
    /** Who made it; there may be no such operator any more. */
    operator_id: string;
    label: string;
    secret_hash: string;
    role: 'viewer' | 'approver' | 'admin';
    /** JSON lists; null: every group, every scope. */
    groups: string | null;
    scopes: string | null;
    created_by: string;
    created_at: number;
    expires_at: number;
    last_used_at: number | null;
    revoked_at: number | null;
    seal: SealColumn;
  };
  operator_sessions: {
    id: string;
    operator_id: string;
    csrf_hash: string;
    created_at: number;
    expires_at: number;
    address: string;
    revoked_at: number | null;
    method: LoginMethod;
    user_agent: string;
    /** Written at most once a minute; null: not used since it was opened. */
    last_used_at: number | null;
    /** When a second factor was last proven in this session. */
    second_factor_at: number | null;
    /** When the password was last proven in this session. */
    password_at: number | null;
    /** 1: that password may stand without a second factor; null: nobody knows. */
    password_is_long: number | null;
    /** From when on this session can only enrol a second factor, while there is none. */
    factor_due_at: number | null;
    seal: SealColumn;
  };
  operator_factor_demands: { operator_id: string; since: number };
  operator_notices: {
    id: string;
    operator_id: string;
    kind: NoticeKind;
    /** Name of the passkey, label of the token, number of sessions: what it was about. */
    subject: string | null;
    actor: string;
    /** Null: at the command line of the server. */
    address: string | null;
    created_at: number;
    seen_at: number | null;
  };
  operator_totp: {
    operator_id: string;
    sealed_secret: string;
    created_at: number;
    /** Null: begun, and of no effect yet. */
    confirmed_at: number | null;
    /** The highest step of which a code was taken. */
    last_step: number;
    /** Wrong codes since the last right one. */
    failures: number;
    last_failed_at: number | null;
    seal: SealColumn;
  };
  operator_recovery_codes: {
    operator_id: string;
    code_hash: string;
    created_at: number;
    used_at: number | null;
    seal: SealColumn;
  };
  operator_passkeys: {
    id: string;
    operator_id: string;
    /** Base64url, as the authenticator gave it. */
    credential_id: string;
    /** COSE key, base64url. */
    public_key: string;
    sign_count: number;
    rp_id: string;
    /** JSON list of texts. */
    transports: string;
    backed_up: number;
    name: string;
    created_at: number;
    last_used_at: number | null;
    seal: SealColumn;
  };
  passkey_challenges: {
    id: string;
    purpose: 'login' | 'second_factor' | 'step_up' | 'add';
    operator_id: string | null;
    session_id: string | null;
    challenge: string;
    rp_id: string;
    origin: string;
    created_at: number;
    expires_at: number;
    seal: SealColumn;
  };
  setup_links: {
    id: string;
    secret_hash: string;
    created_at: number;
    expires_at: number;
    used_at: number | null;
    seal: SealColumn;
  };
  agent_packages: {
    agent_id: string;
    ecosystem: string;
    name: string;
    arch: string;
    version: string;
    source_name: string | null;
    source_version: string | null;
    origin: string | null;
    held: number;
  };
  /** Of every host; kept by triggers (migration 72). */
  host_sums: { agent_id: string; pending: number };
  inventory_reports: {
    agent_id: string;
    ecosystem: string;
    digest: string;
    scanned_at: number;
    received_at: number;
    complete: number;
    package_count: number;
    /** Who writes a large report in many transactions; null where what is stored is whole. */
    writing: string | null;
  };
  inventory_parts: {
    agent_id: string;
    ecosystem: string;
    /** The digest over all parts, which names the report. */
    report: string;
    part: number;
    piece: number;
    received_at: number;
    /** From here on null in every piece but the first. */
    digest: string | null;
    parts: number | null;
    pieces: number | null;
    size_bytes: number | null;
    package_count: number | null;
    data: string;
  };
  updates: {
    id: string;
    agent_id: string;
    ecosystem: string;
    name: string;
    arch: string;
    current_version: string;
    available_version: string;
    origin: string | null;
    security: number;
    size_bytes: number | null;
    state: string;
    state_reason: string | null;
    out_of_band: number;
    plan_id: string | null;
    approval_id: string | null;
    not_before: number | null;
    verdict: string | null;
    severity: string | null;
    /** What the feeds say of what it fixes or brings; null: not known. For the order of the queue alone. */
    known_exploited: number | null;
    epss: number | null;
    /** Of `queueRank`. */
    queue_rank: number | null;
    /** Known vulnerabilities that it fixes; null: not judged. */
    fixes: number | null;
    /** When the badge last became another one. */
    judged_at: number | null;
    discovered_at: number;
    updated_at: number;
    /** Kept by triggers (migration 69): its host is deleted; its host had an update of the package before. */
    gone: Generated<number>;
    again: Generated<number>;
    /** That of its host; the database keeps it. */
    host_os_id: Generated<string>;
  };
  saved_views: {
    id: string;
    operator_id: string;
    created_by: string;
    name: string;
    page: string;
    query: string;
    shared: number;
    created_at: number;
  };
  /** Every name that an update ever had. */
  update_names: { ecosystem: string; name: string };
  update_plans: {
    id: string;
    update_id: string;
    resolved_at: number;
    received_at: number;
    actions: string;
    plan_sha256: string;
  };
  update_history: {
    id: string;
    update_id: string;
    at: number;
    from_state: string | null;
    to_state: string;
    reason: string | null;
    actor: string;
  };
  advisory_checks: {
    ecosystem: string;
    name: string;
    version: string;
    verdict: 'clear' | 'vulnerable' | 'unchecked';
    reason: string | null;
    advisory_ids: string;
    checked_at: number;
    source: string;
    snapshot: string | null;
  };
  advisories: { id: string; modified: string; record: string; fetched_at: number };
  advisory_coverage: { ecosystem: string; covered: number; checked_at: number };
  mirror_snapshots: {
    base: string;
    load_id: number;
    releases: string;
    source: string;
    modified_mark: string;
    sha256: string;
    as_of: number;
    as_of_kind: 'fetched' | 'newest_record' | 'stated';
    loaded_at: number;
    records: number;
    bad_records: number;
    illegible: string;
  };
  mirror_loads: {
    base: string;
    load_id: number;
    holder: string | null;
    started_at: number;
    heartbeat_at: number;
    phase: string;
    done: number;
    total: number;
    error: string | null;
    failures: number;
    retry_at: number;
  };
  mirror_records: { load_id: number; id: string; modified: string; record: string };
  mirror_entries: {
    load_id: number;
    id: string;
    part: number;
    eco: string;
    name: string;
    ranges_json: string;
    versions_json: string;
  };
  exploited: { feed: 'kev' | 'epss'; cve: string; score: number };
  exploited_feeds: { feed: 'kev' | 'epss'; fetched_at: number; entries: number };
  advisory_stretches: { ecosystem: string; since: number };
  release_times: {
    ecosystem: string;
    name: string;
    version: string;
    /** Hash of the file that the time is of; empty where none was named. */
    artifact: string;
    published_at: number | null;
    /** What the registry says of that hash: confirmed, contradicted or unknown. */
    standing: 'confirmed' | 'contradicted' | 'unknown';
    source: string;
    fetched_at: number;
  };
  first_seen: {
    ecosystem: Ecosystem;
    scope: string;
    name: string;
    version: string;
    arch: string;
    first_seen_at: number;
    agent_id: string;
  };
  provenances: {
    ecosystem: string;
    name: string;
    version: string;
    /** The hash that the plan binds; empty where only whether there is any was asked. */
    artifact: string;
    status: 'verified' | 'unverified' | 'absent' | 'unknown' | 'mismatch';
    source_repository: string | null;
    builder: string | null;
    fetched_at: number;
  };
  approvals: {
    token_id: string;
    update_id: string;
    agent_id: string;
    plan_id: string;
    envelope: string;
    payload_sha256: string;
    key_id: string;
    verdict: string;
    override_by: string | null;
    override_reason: string | null;
    override_event_id: string | null;
    approved_by: string;
    issued_at: number;
    expires_at: number;
    voided_at: number | null;
    void_reason: string | null;
  };
  agent_commands: {
    id: string;
    agent_id: string;
    action: string;
    params: string;
    update_id: string | null;
    approval_id: string | null;
    approval_sha256: string | null;
    status: string;
    seq: number | null;
    key_id: string | null;
    machine_sha256: string | null;
    epoch: number | null;
    envelope: string | null;
    created_by: string;
    created_at: number;
    not_before: number;
    expires_at: number;
    sent_at: number | null;
    received_at: number | null;
    started_at: number | null;
    finished_at: number | null;
    reason: string | null;
    exit_code: number | null;
    output_tail: string | null;
    installed: string | null;
    /** When the server last wrote it. */
    changed_at?: number | null;
    seal: SealColumn;
  };
  command_output: { command_id: string; seq: number; stream: string; data: string; received_at: number };
  events: {
    position: number;
    id: string;
    kind: 'security' | 'system';
    type: string;
    severity: string;
    component: string;
    agent_id: string | null;
    actor: string | null;
    content: string;
    created_at: number;
    previous_hash: string | null;
    hash: string;
  };
  outsider_usage: { kind: string; subject: string; day: number; rows: number; bytes: number };
  client_errors: {
    id: string;
    severity: string;
    actor: string | null;
    content: string;
    bytes: number;
    created_at: number;
  };
  events_head: { id: number; position: number; hash: string | null };
  event_checkpoints: { position: number; hash: string; epoch: number; envelope: string; created_at: number };
  event_anchors: { position: number; hash: string; envelope: string; moved_at: number };
  rate_limits: {
    class: string;
    requests: number;
    window_seconds: number;
    enabled: number;
    updated_at: number;
  };
  signing_keys: {
    key_id: string;
    version: number;
    public_key_hex: string;
    status: 'active' | 'revoked';
    created_at: number;
    revoked_at: number | null;
    in_use: number;
    /** The key set that brought the key to the agents; 0 while it waits for the signatures of the root. */
    first_key_set_version: number;
  };
  key_sets: { version: number; envelope: string; signed_by: string; issued_at: number; expires_at: number };
  signing_roots: { version: number; envelope: string; installed_at: number };
  age_exceptions: {
    id: string;
    ecosystem: string;
    name: string;
    version: string;
    reason: string;
    created_by: string;
    created_at: number;
    expires_at: number;
    deleted_at: number | null;
    seal: SealColumn;
  };
  /** One row for each artifact of the fleet, each kind of hash for itself, with the first claim. */
  artifacts: {
    scope: string;
    name: string;
    version: string;
    variant: string;
    algorithm: string;
    hash: string;
    agent_id: string;
    origin: string | null;
    url: string;
    seen_at: number;
  };
  /** Who said what of an artifact. */
  artifact_sightings: {
    scope: string;
    name: string;
    version: string;
    variant: string;
    algorithm: string;
    hash: string;
    agent_id: string;
    /** 1 where the host contradicted what was there. */
    differs: number;
    origin: string | null;
    url: string;
    seen_at: number;
  };
  /** Hosts whose sightings do not count, or did not once. */
  artifact_distrusts: {
    agent_id: string;
    since: number;
    role: 'newcomer' | 'opponent';
    lifted_at: number | null;
    lifted_by: string | null;
    reason: string | null;
    /** When its plans were noted after it was trusted again. */
    noted_at: number | null;
  };
  /** Whose word alone a host contradicted when it was set aside. */
  artifact_contests: { opponent: string; newcomer: string; contested_at: number };
  artifact_divergences: {
    id: string;
    ecosystem: string;
    scope: string;
    name: string;
    version: string;
    variant: string;
    algorithm: string;
    /** `decided` is everything that waits for nobody. */
    state: 'open' | 'decided';
    settled_by: 'operator' | 'registry' | 'quorum' | 'hosts' | null;
    hash_count: number;
    opened_at: number;
    decided_at: number | null;
    decided_by: string | null;
    reason: string | null;
    /** The operator's decision in force. */
    decision_id: string | null;
  };
  artifact_decisions: {
    id: string;
    divergence_id: string;
    kind: 'accept' | 'undo';
    /** JSON arrays of hashes. */
    accepted: string;
    refused: string;
    reason: string;
    actor: string;
    decided_at: number;
    seal: SealColumn;
  };
  /** The hashes of a divergence as they were settled last; the gate judges the sightings themselves. */
  artifact_hashes: {
    divergence_id: string;
    hash: string;
    standing:
      | 'accepted'
      | 'refused'
      | 'confirmed'
      | 'contradicted'
      | 'established'
      | 'outvoted'
      | 'disputed'
      | 'unsupported';
    /** Hosts that count and were noted with it. */
    hosts: number;
    /** Null where an operator typed it. */
    agent_id: string | null;
    origin: string | null;
    url: string;
    seen_at: number;
  };
  /** What live approvals are still to be held against; the subject is a divergence or a host. */
  artifact_enforcements: {
    kind: 'divergence' | 'host';
    subject: string;
    width: number;
    queued_at: number;
  };
  decisions: {
    id: string;
    update_id: string;
    plan_id: string | null;
    outcome: 'minted' | 'blocked' | 'handed_back';
    actor: string;
    token_id: string | null;
    fingerprint: string;
    document: string;
    document_sha256: string;
    decided_at: number;
    /** When the same was decided last, and how often since. */
    repeated_at: number | null;
    repeats: number;
  };
}
