interface Declared {
  readonly kind: 'gauge' | 'counter' | 'histogram';
  readonly help: string;
  readonly labels?: readonly string[];
}

function metrics<const M extends Readonly<Record<`tidegate_${string}`, Declared>>>(declared: M): M {
  return declared;
}

/**
 * Every metric of the server beside those of the process; docs/metrics.md is generated from it. No label names a host, a
 * package, a person or an address: the number of series does not grow with the fleet.
 */
export const METRICS = metrics({
  tidegate_build_info: { kind: 'gauge', help: 'Always 1; the version of the server.', labels: ['version'] },
  tidegate_collector_up: {
    kind: 'gauge',
    help: '1 if this part of the scrape was read; 0 if it failed, and its metrics are missing.',
    labels: ['collector'],
  },
  tidegate_collector_age_seconds: {
    kind: 'gauge',
    help: 'Age of the values of this part of the scrape: costly ones are counted at most every few seconds.',
    labels: ['collector'],
  },

  tidegate_hosts: {
    kind: 'gauge',
    help: 'Hosts by state. online, offline and unseen are active hosts; unseen ones never checked in.',
    labels: ['state'],
  },
  tidegate_hosts_unbound: { kind: 'gauge', help: 'Active hosts that are not bound to a machine.' },
  tidegate_hosts_up_to_date: {
    kind: 'gauge',
    help: 'Active hosts on which no update is open, but those that a hold keeps back.',
  },
  tidegate_hosts_reboot_due: { kind: 'gauge', help: 'Hosts that need a reboot.' },
  tidegate_clone_suspicions: { kind: 'gauge', help: 'Hosts whose credentials may be used by two machines.' },

  tidegate_updates: {
    kind: 'gauge',
    help: 'Open updates by state and verdict of the gate; not_judged has none yet.',
    labels: ['state', 'verdict'],
  },
  tidegate_updates_waiting: {
    kind: 'gauge',
    help: 'Updates that wait for an approval, by package manager and severity.',
    labels: ['ecosystem', 'severity'],
  },
  tidegate_updates_exploited: {
    kind: 'gauge',
    help: 'Waiting updates that fix a vulnerability known to be exploited.',
  },
  tidegate_updates_stopped: { kind: 'gauge', help: 'Waiting updates that the gate stopped.' },
  tidegate_oldest_waiting_update_age_seconds: {
    kind: 'gauge',
    help: 'Time since the oldest waiting update was first reported; absent where none waits.',
  },

  tidegate_gate_decisions_total: {
    kind: 'counter',
    help: 'Decisions of the gate by outcome, and by what stopped them (none if nothing did). Repeated ones count.',
    labels: ['outcome', 'stop'],
  },

  tidegate_commands: { kind: 'gauge', help: 'Open commands by state.', labels: ['state'] },
  tidegate_oldest_undelivered_command_age_seconds: {
    kind: 'gauge',
    help: 'Time since the oldest install command that no host has fetched was due; absent where none waits.',
  },
  tidegate_divergences_open: {
    kind: 'gauge',
    help: 'Packages for which two sources name different hashes, undecided.',
  },

  tidegate_check_ins_total: { kind: 'counter', help: 'Check-ins of hosts that were answered.' },
  tidegate_http_request_duration_seconds: {
    kind: 'histogram',
    help: 'Time from the head of a request to the end of its answer, by template of its route and class of its status. Streams do not count.',
    labels: ['route', 'status'],
  },
  tidegate_http_rate_limited_total: {
    kind: 'counter',
    help: 'Requests over a limit (429), by template of the route.',
    labels: ['route'],
  },
  tidegate_connections: {
    kind: 'gauge',
    help: 'Open connections of hosts and operators: busy with a request, or waiting for the next one.',
    labels: ['state'],
  },
  tidegate_connections_max: {
    kind: 'gauge',
    help: 'Most connections that are taken, nine tenths of process_max_fds; absent where the system tells no limit.',
  },
  tidegate_connections_ended_total: {
    kind: 'counter',
    help: 'Connections ended because there were too many for the limit of open files: answered ones from four fifths of it, waiting ones to make room for new ones.',
    labels: ['state'],
  },

  tidegate_workers: {
    kind: 'gauge',
    help: 'SERVICE_WORKERS less one: processes beside the server that answer requests; absent where there are none.',
  },
  tidegate_worker_restarts_total: {
    kind: 'counter',
    help: 'Workers that ended and were started again.',
  },
  tidegate_worker_cpu_seconds_total: {
    kind: 'counter',
    help: 'CPU time of a worker since it was started; that of the server is process_cpu_seconds_total.',
    labels: ['worker'],
  },
  tidegate_worker_resident_memory_bytes: {
    kind: 'gauge',
    help: 'Resident memory of a worker; that of the server is process_resident_memory_bytes.',
    labels: ['worker'],
  },

  tidegate_advisories_age_seconds: {
    kind: 'gauge',
    help: 'Age of the mirrored advisories.',
    labels: ['ecosystem'],
  },
  tidegate_advisories_state: {
    kind: 'gauge',
    help: '1 for the state of the source of advisories, 0 for the others.',
    labels: ['state'],
  },
  tidegate_exploited_feed_age_seconds: {
    kind: 'gauge',
    help: 'Time since the feed of exploited vulnerabilities was fetched.',
    labels: ['feed'],
  },
  tidegate_exploited_feed_content_age_seconds: {
    kind: 'gauge',
    help: 'Age of the fetched feed of exploited vulnerabilities by its own date.',
    labels: ['feed'],
  },

  tidegate_events_total: {
    kind: 'counter',
    help: 'Events that this and other servers wrote to the log since this one started.',
    labels: ['type'],
  },
  tidegate_event_chain_length: { kind: 'gauge', help: 'Position of the newest event, pruned ones included.' },
  tidegate_event_chain_unsigned: { kind: 'gauge', help: 'Events after the newest signed checkpoint.' },
  tidegate_event_checkpoint_age_seconds: {
    kind: 'gauge',
    help: 'Age of the newest signed checkpoint; absent where there is none.',
  },
  tidegate_event_follower_lag: {
    kind: 'gauge',
    help: 'Events that an exporter, or the rules for notices, has not dealt with.',
    labels: ['follower'],
  },
  tidegate_event_follower_lag_seconds: {
    kind: 'gauge',
    help: 'Age of the oldest of these events; 0 where there is none.',
    labels: ['follower'],
  },

  tidegate_outsider_budget_used_ratio: {
    kind: 'gauge',
    help: 'Share of its budget of today that all strangers together have written, by kind.',
    labels: ['kind'],
  },

  tidegate_database_ping_seconds: {
    kind: 'gauge',
    help: 'Time that the smallest read took during this scrape.',
  },
  tidegate_last_backup_timestamp_seconds: {
    kind: 'gauge',
    help: 'When the last backup was begun that the database knows of, in seconds since 1970; 0 if there never was one.',
  },
  tidegate_database_size_bytes: { kind: 'gauge', help: 'Size of the database.' },
  tidegate_database_write_faults_total: {
    kind: 'counter',
    help: 'Transactions that failed because the database could not be written.',
  },
  tidegate_database_connections: {
    kind: 'gauge',
    help: 'Connections to PostgreSQL by pool and use; waiting are callers without one.',
    labels: ['pool', 'use'],
  },
});

export type MetricName = keyof typeof METRICS;

/** Upper bounds of the histogram, in seconds. Few: each route has a series for each. */
export const REQUEST_BUCKETS_SECONDS = [0.001, 0.005, 0.025, 0.1, 0.25, 1, 2.5, 10] as const;
