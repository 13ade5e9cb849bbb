// Generated from the OpenAPI document by `npm run docs`: do not edit.
// biome-ignore-all format: generated
// biome-ignore-all lint: generated

interface Item { "id": string; "kind": "security" | "system"; "type": string; "severity": string; "component": string; "agent_id": string | null; "hostname": string | null; "actor": string | null; "content": unknown; "created_at": string; "position"?: number; "previous_hash": string | null; "hash": string }

interface Answer { "items": (Item)[]; "next_cursor": string | null; "total": number; "total_is_capped"?: true }

interface AgentRegistration { "requests": number; "window_seconds": number; "enabled": boolean }

interface Classes { "agent_registration": AgentRegistration; "agent_renewal": AgentRegistration; "agent_checkin": AgentRegistration; "agent_reports": AgentRegistration; "admin_operations": AgentRegistration; "approvals": AgentRegistration; "admin_reads": AgentRegistration; "public_access": AgentRegistration; "login": AgentRegistration; "client_errors": AgentRegistration; "fleet_lock": AgentRegistration }

interface AgentRegistration2 { "requests"?: number; "window_seconds"?: number; "enabled"?: boolean }

interface Classes2 { "agent_registration"?: AgentRegistration2; "agent_renewal"?: AgentRegistration2; "agent_checkin"?: AgentRegistration2; "agent_reports"?: AgentRegistration2; "admin_operations"?: AgentRegistration2; "approvals"?: AgentRegistration2; "admin_reads"?: AgentRegistration2; "public_access"?: AgentRegistration2; "login"?: AgentRegistration2; "client_errors"?: AgentRegistration2; "fleet_lock"?: AgentRegistration2 }

interface Os { "family": string; "id": string; "version_id": string; "arch": string }

interface Evidence { "at": string; "boot_id": string; "address": string | null }

interface NextStep { "act": "dismiss" | "rebind" | "revoke"; "method": "POST"; "path": string; "when": string }

interface CloneSuspected { "since": string; "evidence": (Evidence)[]; "next_steps": (NextStep)[] }

interface HeldUpdates { "updates": number; "security_updates": number; "first_end": string | null; "last_end": string | null }

interface Item2 { "id": string; "hostname": string; "group": string | null; "tags": (string)[]; "status": "bound" | "unbound" | "revoked"; "online": boolean; "machine_id": string | null; "os": Os; "agent_version": string; "uptime_seconds": number | null; "key_set_version": number; "check_in_interval_seconds": number; "enrolled_at": string; "bound_at": string | null; "last_seen_at": string | null; "revoked_at": string | null; "clone_suspected": CloneSuspected | null; "restarts": { "services": "needed" | "not_needed" | "unknown"; "reboot": "needed" | "not_needed" | "unknown" }; "pending_updates": number; "held_updates": HeldUpdates }

interface Answer2 { "items": (Item2)[]; "next_cursor": string | null; "total": number; "total_is_capped"?: true }

interface Answer3 { "agent_id": string; "machine_id": null; "rebind_at": string }

interface Item3 { "name": string; "hosts": number; "updates_pending": number }

interface Answer4 { "items": (Item3)[]; "next_cursor": string | null; "total": number }

interface Item4 { "tag": string; "hosts": number; "reported": boolean }

interface Body { "agent_ids": (string)[]; "set": (string)[]; "remove": (string)[] }

interface Stale { "name": string; "kind": "service" | "core" | "session" | "other"; "processes": number; "files": ({ "path": string; "package"?: string })[]; "more_files": number }

interface Services { "need": "needed" | "not_needed" | "unknown"; "reason"?: string; "stale": (Stale)[]; "more_services": number }

interface RunningKernel { "release": string; "version"?: string; "package"?: string }

interface Reboot { "need": "needed" | "not_needed" | "unknown"; "reason"?: string; "evidence": ("newer_kernel" | "pinned_kernel" | "reboot_required_file" | "empty_reboot_required_file" | "package_manager" | "core_service" | "container")[]; "running_kernel"?: RunningKernel; "next_kernel"?: RunningKernel; "packages": (string)[]; "livepatch": "active" | "inactive" | "unknown" }

interface Report { "observed_at": string; "boot_id": string; "services": Services; "reboot": Reboot }

interface Key { "key_id": string; "version": number; "public_key_hex": string; "status": "active"; "created_at": string }

interface KeySet { "payloadType": string; "payload": string; "signatures": ({ "keyid": string; "sig": string })[] }

interface Answer5 { "keys": (Key)[]; "key_set": KeySet; "key_sets"?: (KeySet)[]; "roots"?: (KeySet)[] }

interface Item5 { "key_id": string; "version": number; "public_key_hex": string; "status": "active" | "revoked"; "created_at": string; "revoked_at": string | null; "in_use": boolean; "awaits_root": boolean; "trusted_by": number }

interface Answer6 { "items": (Item5)[]; "next_cursor": string | null; "total": number }

interface Answer7 { "key_id": string; "version": number; "public_key_hex": string; "status": "active" | "revoked"; "created_at": string; "revoked_at": string | null; "in_use": boolean; "awaits_root": boolean }

interface Item6 { "id": string; "label": string; "seats": number; "seats_used": number; "group": string | null; "tags": (string)[]; "created_by": string; "created_at": string; "expires_at": string }

interface Answer8 { "items": (Item6)[]; "next_cursor": string | null; "total": number }

interface Body2 { "label": string; "seats"?: number; "expires_at"?: string; "group"?: string | null; "tags"?: (string)[] }

interface Answer9 { "id": string; "label": string; "seats": number; "seats_used": number; "group": string | null; "tags": (string)[]; "created_by": string; "created_at": string; "expires_at": string; "token": string }

interface File { "path": string; "target": "linux-x64" | "linux-arm64"; "format": "deb" | "rpm" | "tar.gz"; "bytes": number; "sha256": string }

interface Answer10 { "version": string | null; "files": (File)[]; "faults": (string)[]; "ca_sha256": string | null; "is_ca_missing": boolean }

interface Hashe { "hash": string; "standing": "accepted" | "refused" | "confirmed" | "contradicted" | "established" | "outvoted" | "disputed" | "unsupported"; "hosts": number; "agent_id": string | null; "origin": string | null; "url": string; "seen_at": string }

interface Item7 { "id": string; "ecosystem": "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "distribution": string | null; "name": string; "version": string; "variant": string | null; "algorithm": "sha256" | "sha512"; "state": "open" | "decided" | "settled"; "settled_by": "operator" | "registry" | "quorum" | "hosts" | null; "hashes": (Hashe)[]; "opened_at": string; "decided_at": string | null; "decided_by": string | null; "reason": string | null }

interface Answer11 { "items": (Item7)[]; "next_cursor": string | null; "total": number }

interface Item8 { "hash": string; "agent_id": string; "hostname": string | null; "counts": boolean; "differs": boolean; "origin": string | null; "url": string; "seen_at": string }

interface Decision { "id": string; "accept": "all" | string; "confirm_count"?: number }

interface Body3 { "accept": "all" | string; "reason": string; "confirm_count"?: number }

interface Item9 { "agent_id": string; "hostname": string; "role": "newcomer" | "opponent"; "since": string }

interface Answer12 { "items": (Item9)[]; "next_cursor": string | null; "total": number }

interface Item10 { "id": string; "agent_id": string; "hostname": string; "ecosystem": "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "name": string; "arch": string | null; "current_version": string; "available_version": string; "origin": string | null; "security": boolean; "size_bytes": number | null; "offers": ("series" | "newest" | "smallest_fix")[]; "change": "patch" | "minor" | "major" | null; "recommended": boolean; "state": "pending" | "awaiting_plan" | "approved" | "installing" | "installed" | "failed" | "rejected" | "superseded"; "state_reason": string | null; "out_of_band": boolean; "verdict": "clear" | "vulnerable" | "unchecked" | null; "severity": string | null; "known_exploited": boolean | null; "epss": number | null; "introduces": number | null; "stays": number | null; "fixes": number | null; "fixes_severity": string | null; "fixes_exploited": boolean | null; "has_plan": boolean; "siblings": number | null; "rollback_of": string | null; "not_before": string | null; "discovered_at": string; "updated_at": string }

interface Answer13 { "items": (Item10)[]; "next_cursor": string | null; "total": number; "total_is_capped"?: true }

interface Item11 { "agent_id": string; "hostname": string; "group": string | null; "reboot": "needed" | "not_needed" | "unknown"; "updates": number; "exploited_fixes": number; "critical_fixes": number; "high_fixes": number; "fixes": number; "unjudged": number }

interface Answer14 { "items": (Item11)[]; "next_cursor": string | null; "total": number; "total_is_capped"?: true }

interface ListedSibling { "id": string; "name": string; "arch": string | null; "current_version": string; "available_version": string; "state": "pending" | "awaiting_plan" | "approved" | "installing" | "installed" | "failed" | "rejected" | "superseded" }

interface Artifact { "filename": string; "url": string; "size_bytes": number; "sha256"?: string; "sha512"?: string }

interface Action { "action": "install" | "upgrade" | "downgrade" | "remove"; "name": string; "arch"?: string; "from_version"?: string; "to_version"?: string; "source_name"?: string; "source_version"?: string; "origin"?: string; "origin_key"?: string; "artifact"?: Artifact; "back"?: { "size_bytes": number; "sha256": string } }

interface Plan { "id": string; "resolved_at": string; "received_at": string; "plan_sha256": string; "actions": (Action)[] }

interface WayBack { "kind": "complete" | "partial" | "none"; "missing": ({ "package": string; "version": string })[]; "missing_count": number }

interface History { "at": string; "from_state": string | null; "to_state": string; "reason": string | null; "actor": string }

interface Answer15 { "id": string; "agent_id": string; "hostname": string; "ecosystem": "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "name": string; "arch": string | null; "current_version": string; "available_version": string; "origin": string | null; "security": boolean; "size_bytes": number | null; "offers": ("series" | "newest" | "smallest_fix")[]; "change": "patch" | "minor" | "major" | null; "recommended": boolean; "state": "pending" | "awaiting_plan" | "approved" | "installing" | "installed" | "failed" | "rejected" | "superseded"; "state_reason": string | null; "out_of_band": boolean; "verdict": "clear" | "vulnerable" | "unchecked" | null; "severity": string | null; "known_exploited": boolean | null; "epss": number | null; "introduces": number | null; "stays": number | null; "fixes": number | null; "fixes_severity": string | null; "fixes_exploited": boolean | null; "has_plan": boolean; "siblings": number | null; "rollback_of": string | null; "not_before": string | null; "discovered_at": string; "updated_at": string; "listed_siblings": (ListedSibling)[]; "plan": Plan | null; "way_back": WayBack | null; "history": (History)[]; "gate": unknown }

interface Item12 { "id": string; "ecosystem": "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "name": string; "hosts": number; "updates": number; "available_versions": number; "newest_update_at": string; "security": boolean; "severity": string | null; "known_exploited": boolean | null; "fixes": boolean | null; "fixes_severity": string | null; "fixes_exploited": boolean | null; "states": { [name: string]: number }; "held_updates": HeldUpdates }

interface Answer16 { "items": (Item12)[]; "next_cursor": string | null; "total": number; "total_is_capped"?: true }

interface First { "name": string; "from": string; "to": string }

interface Probe { "name": string; "kind"?: "unit" | "failed_units" | "tcp" | "http" | "program"; "state": "green" | "red" | "unknown"; "detail"?: string }

interface Hook { "name": string; "stage": "before" | "after"; "outcome": "ok" | "failed" | "timed_out"; "seconds": number }

interface Item13 { "id": string; "agent_id": string; "hostname": string; "action": "scan" | "plan_update" | "install_update" | "repair" | "reboot" | "restart_services" | "update_agent" | "refresh_keys" | "set_polling" | "run_probes"; "params": unknown; "update_ids": (string)[]; "packages": { "total": number; "first": (First)[] }; "status": "pending" | "sent" | "received" | "running" | "success" | "failed" | "refused" | "interrupted" | "expired" | "cancelled"; "seq": number | null; "created_by": string; "created_at": string; "not_before": string; "expires_at": string; "sent_at": string | null; "received_at": string | null; "started_at": string | null; "installing_at": string | null; "finished_at": string | null; "reason": string | null; "exit_code": number | null; "output_tail": string | null; "way_back": { "kept": number; "replaced": number } | null; "restarts": Report | null; "probes": { "before"?: { "at": string; "probes": (Probe)[] } } | null; "hooks": (Hook)[] | null }

interface Answer17 { "items": (Item13)[]; "next_cursor": string | null; "total": number; "total_is_capped"?: true }

interface Probe2 { "name": string; "kind"?: "unit" | "failed_units" | "tcp" | "http" | "program"; "state": "green" | "red" | "unknown"; "detail"?: string; "since": string; "last_state": "green" | "red" | "unknown" }

interface Answer18 { "state": "green" | "red" | "unknown" | "none"; "since": string | null; "at": string | null; "probes": (Probe2)[] }

interface Outcome { "unit": string; "outcome": "restarted" | "not_stale" | "failed" | "not_attempted"; "detail"?: string }

interface Item14 { "id": string; "agent_id": string; "hostname": string; "kind": "reboot" | "restart_services"; "state": "queued" | "running" | "rebooted" | "done" | "failed" | "cancelled" | "expired"; "waits_for": "later" | "online" | "slot" | "release" | "healthy" | "turn" | "fetch" | null; "reason": string; "warn_minutes": number; "asked_by": string; "asked_at": string; "deadline": string; "boot_id": string; "new_boot_id": string | null; "units": (string)[] | null; "outcomes": (Outcome)[] | null; "attempts": number; "not_before": string; "blockers": ({ "kind": "user" | "inhibitor" | "package_manager" | "other"; "name": string })[] | null; "detail": string | null; "command_id": string | null; "ended_at": string | null }

interface Answer19 { "items": (Item14)[]; "next_cursor": string | null; "total": number }

interface Scope { "kind": "some"; "groups": (string)[]; "hosts": (string)[]; "tags"?: (string)[] }

interface Body4 { "kind": "reboot" | "restart_services"; "scope": { "kind": "all" } | Scope; "only_needed"?: boolean; "warn_minutes"?: number; "reason": string; "deadline": string; "dry_run"?: boolean }

interface Answer20 { "dry_run": boolean; "queued": number; "hosts": ({ "agent_id": string; "hostname": string })[]; "left_out": ({ "why": "not_needed" | "unknown" | "never_checked_in" | "queued_already"; "hosts": number })[] }

interface Slot { "id": string; "agent_id": string | null; "hostname": string; "command_id": string | null; "state": "held" | "proving" | "failed"; "taken_at": string; "ends_at": string; "detail": string | null }

interface Item15 { "group": string | null; "max_at_once": number; "min_healthy": number; "halt_after": number; "is_halted": boolean; "taken": number; "waiting": number; "slots": (Slot)[] }

interface Body5 { "group": string | null; "max_at_once": number; "min_healthy": number; "halt_after": number }

interface Update { "id": string; "available_version": string; "state": "pending" | "awaiting_plan" | "approved" | "installing" | "installed" | "failed" | "rejected" | "superseded"; "verdict": "clear" | "vulnerable" | "unchecked" | null; "security": boolean }

interface Item16 { "ecosystem": "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "name": string; "version": string; "arch": string | null; "source_name": string | null; "source_version": string | null; "origin": string | null; "held": boolean; "update": Update | null }

interface Broken { "name": string; "version": string; "arch"?: string; "state": string }

interface Package { "name": string; "arch": string; "version": string; "state": "unpacked" | "half-configured"; "scripts": { "config"?: string; "postinst"?: string } }

interface Condition { "trouble": { "reason": "packages_broken" | "transaction_interrupted" | "packages_locked" | "space_insufficient"; "detail": string } | null; "broken": (Broken)[]; "more_broken": number; "repair"?: { "packages": (Package)[] }; "left_files": ({ "path": string; "package"?: string })[]; "more_left_files": number; "unread_folders": number }

interface Report2 { "ecosystem": "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "scanned_at": string; "received_at": string; "complete": boolean; "packages": number; "lists_confirmed_at": string | null; "condition": Condition | null; "repair_sha256": string | null }

interface Answer21 { "items": (Item16)[]; "next_cursor": string | null; "total": number; "total_is_capped"?: true; "reports": (Report2)[] }

interface Command { "id": string; "update_id": string | null; "approved_by": string | null; "policy_id": string | null }

interface Item17 { "position": number; "ecosystem": "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "name": string; "arch": string | null; "kind": "installed" | "removed" | "changed" | "held" | "released" | "described"; "from_version": string | null; "to_version": string | null; "reported_at": string; "cause": "tidegate" | "outside" | "unknown"; "command": Command | null }

interface Ecosystem { "ecosystem": "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "known_since": string | null; "known": boolean }

interface Answer22 { "items": (Item17)[]; "next_cursor": string | null; "total": number; "total_is_capped"?: true; "ecosystems": (Ecosystem)[] }

interface Item18 { "ecosystem": "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "name": string; "version": string; "arch": string | null; "source_name": string | null; "source_version": string | null; "origin": string | null; "held": boolean }

interface Answer23 { "items": (Item18)[]; "next_cursor": string | null; "total": number; "total_is_capped"?: true; "ecosystems": (Ecosystem)[] }

interface Item19 { "position": number; "ecosystem": "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "name": string; "arch": string | null; "kind": "installed" | "removed" | "changed" | "held" | "released" | "described"; "from_version": string | null; "to_version": string | null }

interface Answer24 { "items": (Item19)[]; "next_cursor": string | null; "total": number; "total_is_capped"?: true; "ecosystems": (Ecosystem)[] }

interface Answer25 { "progress_id": string; "state": "running" | "done" | "failed"; "done": number; "total": number; "approved": number; "blocked": number; "waiting": number; "skipped": number; "started_at": string; "updated_at": string }

interface Package2 { "ecosystem": "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "name": string; "version": string }

interface Excuse { "by": "vendor" | "statement"; "vendor"?: "debian" | "ubuntu" | "redhat"; "statement_id"?: string; "status": "unimportant" | "not_affected" | "accepted" }

interface Introduce { "package": string; "version": string; "id": string; "aliases": (string)[]; "severity": string | null; "summary": string; "fixed_in": string | null; "in_closure": "top" | "dependency"; "kev"?: boolean; "epss"?: number | null; "vendor": { "by": "debian" | "ubuntu" | "redhat"; "status": "unimportant" | "negligible" | "not_affected" | "ignored" | "postponed" | "deferred" | "no_dsa" | "will_not_fix" | "under_investigation" | "end_of_life" | "out_of_support" } | null; "excuse": Excuse | null }

interface Fixe { "package": string; "version": string; "id": string; "aliases": (string)[]; "severity": string | null; "summary": string; "kev"?: boolean; "epss"?: number | null }

interface Violation { "package": string; "version": string; "published_at": string | null; "age_hours": number | null }

interface Time { "package": string; "version": string; "published_at": string | null; "source": string }

interface Age { "minimum_hours": number; "violations": (Violation)[]; "times": (Time)[] }

interface Divergence { "divergence_id": string | null; "package": string; "version": string; "algorithm": "sha256" | "sha512"; "hash": string }

interface UnknownArtifact { "package": string; "version": string; "algorithm": "sha256" | "sha512"; "hash": string; "source": string }

interface Held { "package": string; "version": string | null; "hold_id": string; "reason": string; "ends_at": string }

interface Registration { "id": string; "rule": "ask" | "allow_older_than" | "allow"; "min_age_days": number | null; "reason": string; "ends_at": string }

interface ThirdParty { "package": string; "version": string; "arch": string | null; "origin": string; "suites": (string)[]; "key": string | null; "standing": "allowed" | "asks" | "too_young" | "disputed" | "not_registered" | "key_unknown"; "registration": Registration | null; "first_seen_at": string | null }

interface Blocked { "update_id": string; "package": Package2; "blocked_by": "divergence" | "registry" | "hold" | "age" | "policy" | "vulnerability" | "unchecked"; "reason": "artifact_divergence" | "artifact_unknown_to_registry" | "held" | "known_vulnerability" | "too_young" | "unknown_age" | "unreachable" | "uncovered" | "undecidable" | "not_chosen" | "ecosystem" | "package" | "excepted" | "origin" | "not_security" | "severity" | "change" | "policy_age" | "policy_age_unknown" | "age_exception" | "ring_not_entered" | "unproven"; "introduces": (Introduce)[]; "stays": (Introduce)[]; "fixes": (Fixe)[]; "fixes_complete": boolean; "unchecked": "unreachable" | "undecidable" | "uncovered" | null; "age": Age | null; "divergences": (Divergence)[]; "unknown_artifacts": (UnknownArtifact)[]; "held": (Held)[]; "third_party": (ThirdParty)[] }

interface Answer26 { "approved": ({ "update_id": string; "token_id": string })[]; "awaiting_plan": (string)[]; "blocked": (Blocked)[]; "skipped": ({ "update_id": string; "code": string })[] }

interface Body6 { "override_supply_chain"?: boolean; "override_reason"?: string; "not_before"?: string }

interface Answer27 { "update_id": string; "state": "approved"; "token": KeySet; "warnings": ({ "code": string; "detail": string })[] }

interface Filter { "state"?: "pending" | "awaiting_plan" | "approved" | "installing" | "installed" | "failed" | "rejected" | "superseded"; "open"?: "true" | "false" | boolean; "ecosystem"?: "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "name"?: string; "q"?: string; "agent_id"?: string; "group"?: string; "tag"?: string; "severity"?: "none" | "low" | "medium" | "high" | "critical" | "unknown"; "verdict"?: "clear" | "vulnerable" | "unchecked" | "not_judged"; "stopped_under"?: "any" | "introduced"; "blocked"?: "true" | "false" | boolean; "security"?: "true" | "false" | boolean; "held"?: "true" | "false" | boolean; "exploited"?: "true" | "false" | boolean; "cve"?: string; "introduces"?: "true" | "false" | boolean; "stays"?: "true" | "false" | boolean; "fixes"?: "true" | "false" | boolean; "fixes_severity"?: "none" | "low" | "medium" | "high" | "critical" | "unknown"; "fixes_exploited"?: "true" | "false" | boolean; "offer"?: "series" | "newest" | "smallest_fix"; "max_change"?: "patch" | "minor" | "any"; "alternatives"?: "true" | "false" | boolean; "os"?: string; "host"?: string; "since"?: string; "until"?: string }

interface Body7 { "filter": Filter; "confirm_count": number; "progress_id"?: string }

interface Counts { "remove": number; "install": number; "downgrade": number; "upgrade": number }

interface Plan2 { "removes": (string)[]; "installs": (string)[]; "downgrades": (string)[]; "counts": Counts; "download_bytes": number }

interface Set { "agent_id": string; "hostname": string; "ecosystem": "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "place": string | null; "update_ids": (string)[]; "plan": Plan2 | null }

interface Answer28 { "updates": number; "hosts": number; "transactions": number; "unplanned": number; "sets": (Set)[]; "left_out": ({ "update_id": string; "code": string })[]; "left_out_count": number }

interface FirstSeen { "package": string; "version": string; "first_seen_at": string }

interface Provenance { "package": string; "version": string; "status": "verified" | "unverified" | "absent" | "unknown" | "mismatch"; "source_repository"?: string; "builder"?: string; "dropped": boolean }

interface OriginChange { "package": string; "arch": string | null; "from": string | null; "to": string }

interface Answer29 { "update_id": string; "package": Package2; "blocked_by": "divergence" | "registry" | "hold" | "age" | "policy" | "vulnerability" | "unchecked" | null; "overridable": boolean; "reason": "artifact_divergence" | "artifact_unknown_to_registry" | "held" | "known_vulnerability" | "too_young" | "unknown_age" | "unreachable" | "uncovered" | "undecidable" | "not_chosen" | "ecosystem" | "package" | "excepted" | "origin" | "not_security" | "severity" | "change" | "policy_age" | "policy_age_unknown" | "age_exception" | "ring_not_entered" | "unproven" | null; "introduces": (Introduce)[]; "stays": (Introduce)[]; "fixes": (Fixe)[]; "fixes_complete": boolean; "unchecked": "unreachable" | "undecidable" | "uncovered" | null; "age": Age | null; "divergences": (Divergence)[]; "unknown_artifacts": (UnknownArtifact)[]; "held": (Held)[]; "first_seen": (FirstSeen)[]; "provenance": (Provenance)[]; "origin_changes": (OriginChange)[]; "third_party": (ThirdParty)[]; "verdict": "clear" | "vulnerable" | "unchecked"; "vulnerability_policy": "any" | "introduced" | null; "checked_at": string | null; "source": string | null; "snapshot": string | null }

interface SecondSignature { "keyid": string; "given_by": string | null; "given_at": string | null; "event_id": string | null; "on_approval": boolean; "is_given": boolean | null }

interface Bulk { "id": string; "event_id": string | null; "asked_by": string | null; "asked_at": string | null; "updates": number | null; "filter": string | null; "is_logged": boolean | null }

interface Override { "by": string; "reason": string | null; "reason_is_signed": boolean | null; "event_id": string | null; "blocked_by": string | null }

interface Item20 { "package": string; "version": string; "created_by": string | null; "reason": string | null }

interface Origin { "id": string; "origin": string; "reason": string }

interface Approval { "token_id": string; "sha256": string; "approved_by": string; "approved_at": string; "event_id": string | null; "signed": "good" | "bad" | "unknown"; "key_id": string; "second_signatures": (SecondSignature)[]; "via": "approve" | "bulk" | "sweep" | "policy" | null; "bulk": Bulk | null; "updates": number; "override": Override | null; "policy": { "id": string; "name": string | null } | null; "age_exceptions": { "total": number; "items": (Item20)[] }; "origins": (Origin)[] }

interface Statement { "id": string; "status": "not_affected" | "accepted"; "vulnerability": string; "package": string }

interface Item21 { "id": string; "decided_at": string; "outcome": "minted" | "blocked" | "handed_back"; "actor": string; "token_id": string | null; "unchecked": "unreachable" | "undecidable" | "uncovered" | null; "statements": (Statement)[]; "sha256": string; "repeats": number; "repeated_at": string | null }

interface Answer30 { "items": (Item21)[]; "next_cursor": string | null; "total": number }

interface Update2 { "id": string; "name": string; "arch": string | null; "from_version": string | null; "to_version": string }

interface Policy { "age_mode": "block" | "warn" | "off"; "vulnerabilities": "any" | "introduced"; "uncovered": "block" | "warn"; "unimportant"?: "pass" | "block"; "unchecked"?: "block" | "warn" }

interface Terms { "ecosystems": ("npm" | "pypi" | "apt" | "dnf" | "tidegate")[]; "packages": (string)[]; "except_packages": (string)[]; "origins": (string)[]; "security_only": boolean; "minimum_severity": "low" | "medium" | "high" | "critical" | null; "max_change": "patch" | "minor" | "any"; "min_age_hours": number | null; "remaining_vulnerabilities": "ask" | "approve"; "only"?: (Package2)[] }

interface Update3 { "ecosystem": "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "name": string; "version"?: string; "origin": string | null; "security": boolean; "fixes": (string | null)[] | null; "change": "patch" | "minor" | "major" | null }

interface Item22 { "package": string; "version": string; "since_ms": number | null }

interface Ring { "ring": number; "name": string; "entered": boolean; "rollouts": (string)[]; "entered_at_ms": number | null; "rule": "ask" | { "wait_days": number }; "unproven": { "total": number; "items": ({ "package": string; "version": string })[] } }

interface Standing { "policy_id": string; "sha256": string; "terms": Terms; "updates": (Update3)[]; "brought": { "total": number; "items": (Item22)[] }; "at_ms": number; "ring"?: Ring }

interface Request { "by": "operator" | "sweep" | "policy"; "override": boolean; "override_reason": { "sha256": string; "blank": boolean } | null; "standing"?: Standing }

interface Item23 { "package": string; "version": string; "status": "verified" | "unverified" | "absent" | "unknown" | "mismatch"; "dropped": boolean }

interface Item24 { "package": string; "version": string; "id": string; "aliases": (string)[]; "severity": string | null; "summary": string; "fixed_in": string | null; "in_closure": "top" | "dependency"; "change": "introduced" | "still_present"; "malicious": boolean; "kev"?: boolean; "epss"?: number | null; "names"?: (string)[]; "vendor"?: { "by": "debian" | "ubuntu" | "redhat"; "status": "unimportant" | "negligible" | "not_affected" | "ignored" | "postponed" | "deferred" | "no_dsa" | "will_not_fix" | "under_investigation" | "end_of_life" | "out_of_support" } | null }

interface Item25 { "id": string; "package": string; "version"?: string; "aliases"?: (string)[]; "severity"?: string | null; "summary"?: string; "kev"?: boolean; "epss"?: number | null }

interface Closure { "verdict": "clear" | "vulnerable" | "unchecked"; "unchecked": "unreachable" | "undecidable" | "uncovered" | null; "findings": { "total": number; "items": (Item24)[] }; "fixed": { "total": number; "items": (Item25)[] }; "missing": { "after": number; "before": number }; "checked_at_ms": number | null; "source": string | null; "snapshot": string | null }

interface Item26 { "package": string; "version": string; "published_at_ms": number | null; "age_hours": number | null }

interface Item27 { "package": string; "version": string; "published_at_ms": number | null; "source": string }

interface Age2 { "status": "ok" | "violation" | "unknown_age" | "not_applicable" | "off"; "minimum_hours": number; "pending": boolean; "violations": { "total": number; "items": (Item26)[] }; "times": { "total": number; "items": (Item27)[] }; "excepted": { "total": number; "items": ({ "package": string; "version": string })[] } }

interface Item28 { "package": string; "version": string | null; "hold_id": string; "reason": string; "ends_at_ms": number }

interface Item29 { "id": string; "sha256": string; "status": "not_affected" | "accepted"; "vulnerability": string; "package": string; "distribution": string | null; "versions": (string)[]; "scope": { "kind": "all" } | { "kind": "group"; "group": string } | { "kind": "host"; "agent_id": string }; "ends_at_ms": number }

interface Registration2 { "id": string; "sha256": string; "rule": "ask" | "allow_older_than" | "allow"; "min_age_days": number | null; "reason": string; "ends_at_ms": number }

interface Item30 { "package": string; "version": string; "arch": string | null; "origin": string; "key": string | null; "standing": "allowed" | "asks" | "too_young" | "disputed" | "not_registered" | "key_unknown"; "registration": Registration2 | null; "first_seen_at_ms": number | null }

interface Origins { "total": number; "uncovered": number; "items": (Item30)[] }

interface Judged { "closure": Closure; "age": Age2; "divergences": { "total": number; "items": (Divergence)[] }; "held"?: { "total": number; "items": (Item28)[] }; "statements"?: { "total": number; "items": (Item29)[] }; "origins"?: Origins; "registry"?: { "pending": boolean; "contradicted": { "total": number; "items": (UnknownArtifact)[] } } }

interface Facts { "ecosystem": "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "advisories": "judged" | "pending" | "unreachable"; "provenance"?: { "total": number; "items": (Item23)[] }; "origin_changes"?: { "total": number; "items": (OriginChange)[] }; "judged": Judged | null }

interface Verdict { "kind": "mint"; "waived": { "by": string; "reason": string } | null; "warnings": (string)[]; "statements"?: (string)[] }

interface Verdict2 { "kind": "blocked"; "stop": { "by": string; "reason": string }; "overridable": boolean; "statements"?: (string)[] }

interface Record2 { "v": 1; "id": string; "gate_version": number; "decided_at": string; "via": "approve" | "bulk" | "sweep" | "policy"; "bulk_id"?: string; "actor": string; "approved_by": string | null; "agent_id": string; "updates": (Update2)[]; "plan": { "id": string; "plan_sha256": string } | null; "policy": Policy; "request": Request; "facts": Facts; "verdict": Verdict | Verdict2 | { "kind": "plan_unknown" | "plan_required" | "override_reason_required" | "verdict_pending" }; "outcome": "minted" | "blocked" | "handed_back"; "outcome_reason": string | null; "token_id": string | null }

interface Answer31 { "id": string; "decided_at": string; "outcome": "minted" | "blocked" | "handed_back"; "actor": string; "token_id": string | null; "unchecked": "unreachable" | "undecidable" | "uncovered" | null; "statements": (Statement)[]; "sha256": string; "repeats": number; "repeated_at": string | null; "record": Record2; "replays": boolean }

interface Item31 { "id": string; "ecosystem": "npm" | "pypi"; "name": string; "version": string; "reason": string; "expires_at": string; "created_by": string; "created_at": string }

interface Answer32 { "items": (Item31)[]; "next_cursor": string | null; "total": number }

interface Body8 { "ecosystem": "npm" | "pypi"; "name": string; "version": string; "reason": string; "expires_at": string }

interface Open { "judged": number; "not_judged": number; "stopped": { "any": number; "introduced": number } }

interface Answer33 { "policy": "any" | "introduced"; "set_by": "default" | "operator" | "environment"; "changed_at": string | null; "changed_by": string | null; "open": Open }

interface Imported { "format": "openvex" | "cyclonedx"; "author": string; "document_sha256": string }

interface Item32 { "id": string; "vulnerability": string; "ecosystem": "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "package": string; "distribution": string | null; "versions": (string)[]; "scope": { "kind": "all" } | { "kind": "group"; "group": string } | { "kind": "host"; "agent_id": string }; "status": "not_affected" | "accepted"; "justification": "component_not_present" | "vulnerable_code_not_present" | "vulnerable_code_not_in_execute_path" | "vulnerable_code_cannot_be_controlled_by_adversary" | "inline_mitigations_already_exist" | null; "text": string; "ends_at": string; "state": "in_force" | "expired" | "revoked"; "sha256": string; "imported": Imported | null; "created_by": string; "created_at": string; "ended_by": string | null; "ended_at": string | null }

interface Answer34 { "items": (Item32)[]; "next_cursor": string | null; "total": number }

interface Body9 { "vulnerability": string; "ecosystem": "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "package": string; "distribution": string | null; "versions": (string)[]; "scope": { "kind": "all" } | { "kind": "group"; "group": string } | { "kind": "host"; "agent_id": string }; "status": "not_affected" | "accepted"; "justification": "component_not_present" | "vulnerable_code_not_present" | "vulnerable_code_not_in_execute_path" | "vulnerable_code_cannot_be_controlled_by_adversary" | "inline_mitigations_already_exist" | null; "text": string; "ends_at": string }

interface Answer35 { "id": string; "vulnerability": string; "ecosystem": "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "package": string; "distribution": string | null; "versions": (string)[]; "scope": { "kind": "all" } | { "kind": "group"; "group": string } | { "kind": "host"; "agent_id": string }; "status": "not_affected" | "accepted"; "justification": "component_not_present" | "vulnerable_code_not_present" | "vulnerable_code_not_in_execute_path" | "vulnerable_code_cannot_be_controlled_by_adversary" | "inline_mitigations_already_exist" | null; "text": string; "ends_at": string; "state": "in_force" | "expired" | "revoked"; "sha256": string; "imported": Imported | null; "created_by": string; "created_at": string; "ended_by": string | null; "ended_at": string | null; "envelope": KeySet }

interface Body10 { "format": "openvex" | "cyclonedx"; "document": { [name: string]: unknown }; "scope": { "kind": "all" } | { "kind": "group"; "group": string } | { "kind": "host"; "agent_id": string }; "ends_at": string }

interface Answer36 { "imported": (string)[]; "already": number; "skipped": ({ "vulnerability": string; "reason": string })[] }

interface Item33 { "id": string; "ecosystem": "apt" | "dnf"; "key": string; "suites": (string)[]; "rule": "ask" | "allow_older_than" | "allow"; "min_age_days": number | null; "reason": string; "ends_at": string; "state": "in_force" | "expired" | "revoked"; "sha256": string; "created_by": string; "created_at": string; "ended_by": string | null; "ended_at": string | null }

interface Answer37 { "items": (Item33)[]; "next_cursor": string | null; "total": number }

interface Body11 { "ecosystem": "apt" | "dnf"; "key": string; "suites": (string)[]; "rule": "ask" | "allow_older_than" | "allow"; "min_age_days": number | null; "reason": string; "ends_at": string }

interface Answer38 { "id": string; "ecosystem": "apt" | "dnf"; "key": string; "suites": (string)[]; "rule": "ask" | "allow_older_than" | "allow"; "min_age_days": number | null; "reason": string; "ends_at": string; "state": "in_force" | "expired" | "revoked"; "sha256": string; "created_by": string; "created_at": string; "ended_by": string | null; "ended_at": string | null; "envelope": KeySet }

interface Window { "rrule": string | null; "starts_on": string; "start": string; "zone": string; "duration_minutes": number; "except"?: (string)[]; "actions"?: ("install" | "restart_services" | "reboot" | "update_agent")[]; "catch_up_hours"?: number }

interface Gate { "min_success_count": number; "min_success_rate_percent": number; "soak_minutes": number; "probes": "none" | "green"; "approval": boolean }

interface Ring2 { "name": string; "members": Scope | { "kind": "percent"; "percent": number } | { "kind": "rest" }; "gate": Gate | null; "deadline_minutes": number; "halt": { "failed_hosts": number | null; "failed_percent": number | null } }

interface LastRun { "at": string; "hosts": number; "approved": number; "awaiting_plan": number; "stopped": number; "stopped_by": ({ "reason": string; "count": number })[] }

interface Window2 { "opens_at": string; "closes_at": string; "actions": ("install" | "restart_services" | "reboot" | "update_agent")[] }

interface Item34 { "id": string; "version": number; "sha256": string; "name": string; "text": string; "scope": { "kind": "all" } | Scope; "terms": Terms; "windows": (Window)[]; "ends_at": string; "reboot"?: { "when": "never" | "needed" | "always"; "warn_minutes": number }; "restart_services"?: "never" | "needed"; "rings"?: (Ring2)[]; "unproven"?: "ask" | { "wait_days": number }; "state": "in_force" | "suspended" | "expired" | "revoked" | "replaced"; "end_reason": "replaced" | "revoked" | "expired" | "author_disabled" | "author_demoted" | "author_bound" | "author_deleted" | null; "author": string; "created_at": string; "ended_by": string | null; "ended_at": string | null; "last_run": LastRun | null; "window": Window2 | null }

interface Answer39 { "items": (Item34)[]; "next_cursor": string | null; "total": number }

interface Body12 { "name": string; "text": string; "scope": { "kind": "all" } | Scope; "terms": Terms; "windows": (Window)[]; "ends_at": string; "reboot"?: { "when": "never" | "needed" | "always"; "warn_minutes": number }; "restart_services"?: "never" | "needed"; "rings"?: (Ring2)[]; "unproven"?: "ask" | { "wait_days": number } }

interface Version { "version": number; "sha256": string; "author": string; "created_at": string; "end_reason": "replaced" | "revoked" | "expired" | "author_disabled" | "author_demoted" | "author_bound" | "author_deleted" | null; "ended_at": string | null }

interface Answer40 { "id": string; "version": number; "sha256": string; "name": string; "text": string; "scope": { "kind": "all" } | Scope; "terms": Terms; "windows": (Window)[]; "ends_at": string; "reboot"?: { "when": "never" | "needed" | "always"; "warn_minutes": number }; "restart_services"?: "never" | "needed"; "rings"?: (Ring2)[]; "unproven"?: "ask" | { "wait_days": number }; "state": "in_force" | "suspended" | "expired" | "revoked" | "replaced"; "end_reason": "replaced" | "revoked" | "expired" | "author_disabled" | "author_demoted" | "author_bound" | "author_deleted" | null; "author": string; "created_at": string; "ended_by": string | null; "ended_at": string | null; "last_run": LastRun | null; "envelope": KeySet; "follow_ups_stopped": boolean; "versions": (Version)[] }

interface Body13 { "name": string; "text": string; "scope": { "kind": "all" } | Scope; "terms": Terms; "windows": (Window)[]; "ends_at": string; "reboot"?: { "when": "never" | "needed" | "always"; "warn_minutes": number }; "restart_services"?: "never" | "needed"; "rings"?: (Ring2)[]; "unproven"?: "ask" | { "wait_days": number }; "replaces": string }

interface Update4 { "update_id": string; "agent_id": string; "hostname": string; "ecosystem": "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "name": string; "to_version": string; "reason": string | null }

interface Unrepresented { "os_id": string | null; "os_version": string | null; "arch": string | null; "hosts": number }

interface Missed { "window": Window2; "catch_up_until": string | null; "hosts": number; "hosts_shown": ({ "agent_id": string; "hostname": string })[] }

interface Answer41 { "open_window": Window2 | null; "open_besides": (Window2)[]; "next_windows": (Window2)[]; "hosts": number; "hosts_shown": ({ "agent_id": string; "hostname": string })[]; "approves": number; "unplanned": number; "leaves": number; "reasons": ({ "reason": string; "count": number })[]; "updates": (Update4)[]; "rings"?: { "rings": ({ "name": string; "hosts": number })[]; "unrepresented": (Unrepresented)[] }; "missed"?: Missed }

interface Approves { "approved": number; "taken_back": number; "not_approved": number }

interface Update5 { "update_id": string; "agent_id": string; "hostname": string; "ecosystem": "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "name": string; "to_version": string; "decided_at": string; "reason": string | null; "fate": "approved" | "taken_back" | "not_approved" }

interface Answer42 { "since": string; "until": string; "decisions": number; "cut": boolean; "unreadable": number; "approves": Approves; "leaves": Approves; "reasons": ({ "reason": string; "count": number })[]; "updates": (Update5)[] }

interface Body14 { "scope": { "kind": "all" } | Scope; "terms": Terms; "windows": (Window)[]; "reboot"?: { "when": "never" | "needed" | "always"; "warn_minutes": number }; "restart_services"?: "never" | "needed"; "rings"?: (Ring2)[] }

interface Installed { "ecosystem": "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "name": string; "version": string; "agent_ids": (string)[] }

interface Body15 { "update_ids"?: (string)[]; "installed"?: Installed; "reason"?: string; "dry_run"?: boolean }

interface Action2 { "action": "install" | "upgrade" | "downgrade" | "remove"; "name": string; "arch"?: string; "from_version"?: string; "to_version"?: string }

interface Requested { "update_id": string | null; "agent_id": string; "token_id": string; "undoes": (string)[]; "actions": (Action2)[]; "action_count": number }

interface Skipped { "update_id"?: string; "agent_id"?: string; "code": "not_found" | "not_installed" | "under_way" | "changed_since" | "too_large" }

interface Outcomes { "waiting": number; "offline": number; "running": number; "installed": number; "failed": number; "probe_failed": number; "silent": number; "refused": number; "unfit": number; "not_offered": number }

interface Item35 { "id": string; "policy_id": string; "policy_sha256": string; "policy_name": string; "lane": "wave" | "emergency"; "state": "running" | "halted" | "finished" | "cancelled"; "ring": number; "ring_name": string; "rings": number; "started_at": string; "ring_entered_at": string; "ended_at": string | null; "waits_for": string; "packages": number; "hosts": number; "outcomes": Outcomes }

interface Answer43 { "items": (Item35)[]; "next_cursor": string | null; "total": number }

interface Condition2 { "kind": "success_count" | "success_rate" | "soak" | "probes" | "divergences" | "approval"; "met": boolean; "has": number; "wants": number; "text": string }

interface Lane { "ring": number; "name": string; "members": Scope | { "kind": "percent"; "percent": number } | { "kind": "rest" }; "state": "ahead" | "current" | "passed"; "entered_at": string | null; "hosts": number; "late": number; "excused": number; "outcomes": Outcomes; "conditions": (Condition2)[] }

interface Halt { "at": string; "by": string; "reason": string }

interface PackageList { "ecosystem": "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "name": string; "version": string; "hosts": number }

interface Answer44 { "id": string; "policy_id": string; "policy_sha256": string; "policy_name": string; "lane": "wave" | "emergency"; "state": "running" | "halted" | "finished" | "cancelled"; "ring": number; "ring_name": string; "rings": number; "started_at": string; "ring_entered_at": string; "ended_at": string | null; "waits_for": string; "packages": number; "hosts": number; "outcomes": Outcomes; "lanes": (Lane)[]; "halt": Halt | null; "package_list": (PackageList)[]; "unrepresented": (Unrepresented)[]; "in_force": boolean }

interface Item36 { "agent_id": string; "hostname": string; "ring": number; "late": boolean; "outcome": "waiting" | "offline" | "running" | "installed" | "failed" | "probe_failed" | "silent" | "refused" | "unfit" | "not_offered"; "excused": boolean; "reason": string | null; "delivered_at": string | null; "settled_at": string | null }

interface Answer45 { "items": (Item36)[]; "next_cursor": string | null; "total": number }

interface Body16 { "ring": number; "reason"?: string; "dry_run"?: boolean; "after"?: string }

interface Answer46 { "requested": (Requested)[]; "skipped": (Skipped)[]; "next": string | null }

interface Times { "kind": "once"; "starts_at": string; "ends_at": string }

interface Schedule { "rrule": string | null; "starts_on": string; "start": string; "zone": string; "duration_minutes": number; "except"?: (string)[] }

interface Item37 { "id": string; "name": string; "reason": string; "scope": { "kind": "all" } | Scope; "times": Times | { "kind": "recurring"; "schedule": Schedule }; "state": "active" | "upcoming" | "over" | "ended"; "active": { "starts_at": string; "ends_at": string } | null; "next": ({ "starts_at": string; "ends_at": string })[]; "created_by": string; "created_at": string; "ended_by": string | null; "ended_at": string | null; "end_reason": string | null }

interface Answer47 { "items": (Item37)[]; "next_cursor": string | null; "total": number }

interface Body17 { "name": string; "reason": string; "scope": { "kind": "all" } | Scope; "times": Times | { "kind": "recurring"; "schedule": Schedule } }

interface Item38 { "id": string; "ecosystems": ("npm" | "pypi" | "apt" | "dnf" | "tidegate")[]; "packages": (string)[]; "scope": { "kind": "all" } | Scope; "reason": string; "ends_at": string; "state": "in_force" | "expired" | "released"; "created_by": string; "created_at": string; "ended_by": string | null; "ended_at": string | null }

interface Answer48 { "items": (Item38)[]; "next_cursor": string | null; "total": number }

interface Body18 { "ecosystems": ("npm" | "pypi" | "apt" | "dnf" | "tidegate")[]; "packages": (string)[]; "scope": { "kind": "all" } | Scope; "reason": string; "ends_at": string }

interface Held2 { "updates": number; "security_updates": number; "hosts": number }

interface Answer49 { "id": string; "ecosystems": ("npm" | "pypi" | "apt" | "dnf" | "tidegate")[]; "packages": (string)[]; "scope": { "kind": "all" } | Scope; "reason": string; "ends_at": string; "state": "in_force" | "expired" | "released"; "created_by": string; "created_at": string; "ended_by": string | null; "ended_at": string | null; "held": Held2 | null }

interface Mitigation { "hook": string; "note": string; "by": string; "at": string }

interface Item39 { "id": string; "ecosystem": "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "distribution": string; "package": string; "installed_packages": (string)[]; "vulnerability": string; "names": (string)[]; "cves": (string)[]; "records": (string)[]; "hosts": number; "hosts_with_pending_fix": number; "first_seen_at": string; "severity": string | null; "exploited": boolean | null; "fixed_in": string | null; "fix_known_at": string | null; "fix_offered_at": string | null; "statements": ({ "id": string; "status": string })[]; "mitigation": Mitigation | null }

interface Answer50 { "items": (Item39)[]; "next_cursor": string | null; "total": number; "total_is_capped"?: true }

interface ExploitedList { "state": "current" | "stale" | "outdated" | "off" | "absent"; "fetched_at": string | null; "released_on": string | null }

interface Answer51 { "at": string | null; "hosts": number; "unknown_hosts": number; "left_out": number; "exploited_list": ExploitedList }

interface Item40 { "agent_id": string; "hostname": string; "group": string | null; "packages": ({ "name": string; "version": string })[] }

interface Package3 { "ecosystem": "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "distribution": string; "package": string; "installed_packages": (string)[]; "fixed_in": string | null }

interface Item41 { "id": string; "names": (string)[]; "summary": string; "severity": string | null; "exploited": boolean | null; "epss": number | null; "packages": (Package3)[]; "hosts": number; "fixable_hosts": number; "waiting_hosts": number; "unfixed_hosts": number; "first_seen_at": string; "gone_at": string | null }

interface Answer52 { "items": (Item41)[]; "next_cursor": string | null; "total": number; "total_is_capped"?: true }

interface NotJudged { "ecosystem": "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "os": string; "reason": "cannot" | "not_yet"; "packages": number }

interface Answer53 { "at": string | null; "hosts": number; "unknown_hosts": number; "exploited_list": ExploitedList; "not_judged": (NotJudged)[] }

interface Answer54 { "id": string; "names": (string)[]; "summary": string; "severity": string | null; "exploited": boolean | null; "epss": number | null; "packages": (Package3)[]; "hosts": number; "fixable_hosts": number; "waiting_hosts": number; "unfixed_hosts": number; "first_seen_at": string; "gone_at": string | null; "covers": (string)[]; "exploited_list": ExploitedList; "exploited_since": string | null; "fix_due_on": string | null; "counted_at": string | null; "unknown_hosts": number }

interface Fixe2 { "update_id": string; "name": string; "version": string; "state": "pending" | "awaiting_plan" | "approved" | "installing" | "installed" | "failed" | "rejected" | "superseded"; "waits_for": "approval" | "plan" | "check" | "gate" | "hold" | "installation" }

interface Item42 { "agent_id": string; "hostname": string; "group": string | null; "state": "fixable" | "waiting" | "unfixed" | "fixed"; "packages": ({ "name": string; "version": string })[]; "fixes": (Fixe2)[]; "fixed_at": string | null }

interface Hold { "id": string; "packages": (string)[]; "reason": string; "ends_at": string; "updates": number; "security_updates": number }

interface Blackout { "id": string; "name": string; "until": string }

interface Answer55 { "as_of": string; "pending": number; "open": number; "installed": number | null; "held": HeldUpdates; "holds": (Hold)[]; "own_holds": { "total": number; "packages": (Package2)[] }; "blackout": Blackout | null }

interface Body19 { "username": string; "password": string; "totp"?: string; "recovery_code"?: string }

interface Operator { "id": string; "username": string; "role": "viewer" | "approver" | "admin"; "groups": (string)[] | null }

interface Answer56 { "token": string; "expires_at": string; "operator": Operator }

interface Factors { "totp": boolean; "passkeys": number; "recovery_codes_left": number }

interface Answer57 { "operator": Operator; "expires_at": string; "factors": Factors; "unread_notices": number; "second_factor_due_at": string | null; "stepped_up_until": string | null; "method": "password" | "password+totp" | "password+recovery_code" | "password+passkey" | "passkey" | "provider" | "provider+factor" | null; "needs_factor": boolean }

interface Body20 { "secret": string; "username": string; "password": string }

interface Item43 { "id": string; "created_at": string; "last_used_at": string; "expires_at": string; "address": string; "user_agent": string; "method": "password" | "password+totp" | "password+recovery_code" | "password+passkey" | "passkey" | "provider" | "provider+factor"; "is_current": boolean }

interface Answer58 { "items": (Item43)[]; "next_cursor": string | null; "total": number }

interface Item44 { "id": string; "created_at": string; "last_used_at": string; "expires_at": string; "address": string; "user_agent": string; "method": "password" | "password+totp" | "password+recovery_code" | "password+passkey" | "passkey" | "provider" | "provider+factor"; "is_current": boolean; "operator_id": string; "username": string }

interface Answer59 { "items": (Item44)[]; "next_cursor": string | null; "total": number }

interface Response { "clientDataJSON": string; "authenticatorData": string; "signature": string; "userHandle"?: string | null }

interface Credential { "id": string; "rawId": string; "type": "public-key"; "authenticatorAttachment"?: string | null; "clientExtensionResults"?: { [name: string]: unknown }; "response": Response }

interface Item45 { "id": string; "kind": "totp_added" | "totp_removed" | "passkey_added" | "passkey_renamed" | "passkey_removed" | "recovery_codes_made" | "recovery_code_used" | "password_changed" | "password_reset" | "factors_reset" | "sessions_ended" | "api_token_created" | "api_token_revoked" | "api_tokens_ended" | "identity_bound" | "identity_unbound" | "identities_ended" | "access_changed" | "logins_slowed"; "subject": string | null; "at": string; "actor": string; "address": string | null; "is_new": boolean }

interface Answer60 { "items": (Item45)[]; "next_cursor": string | null; "total": number }

interface Item46 { "id": string; "name": string; "created_at": string; "last_used_at": string | null; "backed_up": boolean }

interface Answer61 { "items": (Item46)[]; "next_cursor": string | null; "total": number }

interface Response2 { "clientDataJSON": string; "attestationObject": string; "transports"?: (string)[] }

interface Credential2 { "id": string; "rawId": string; "type": "public-key"; "authenticatorAttachment"?: string | null; "clientExtensionResults"?: { [name: string]: unknown }; "response": Response2 }

interface Body21 { "challenge_id": string; "name": string; "credential": Credential2 }

interface Item47 { "id": string; "username": string; "role": "viewer" | "approver" | "admin"; "groups": (string)[] | null; "disabled": boolean; "second_factors": ("totp" | "passkey")[]; "has_password": boolean; "created_at": string }

interface Answer62 { "items": (Item47)[]; "next_cursor": string | null; "total": number }

interface Body22 { "username": string; "password": string; "role": "viewer" | "approver" | "admin"; "groups"?: (string)[] | null }

interface Body23 { "password"?: string; "keep"?: ("totp" | "passkeys" | "identities" | "sessions" | "api_tokens")[]; "role"?: "viewer" | "approver" | "admin"; "groups"?: (string)[] | null; "disabled"?: boolean }

interface Item48 { "id": string; "label": string; "role": "viewer" | "approver" | "admin"; "groups": (string)[] | null; "scopes": ("read" | "approve" | "override" | "hosts" | "admin")[] | null; "state": "active" | "expired" | "suspended"; "created_by": string; "created_at": string; "expires_at": string; "last_used_at": string | null }

interface Answer63 { "items": (Item48)[]; "next_cursor": string | null; "total": number }

interface Body24 { "label": string; "role": "viewer" | "approver" | "admin"; "groups"?: (string)[] | null; "scopes"?: ("read" | "approve" | "override" | "hosts" | "admin")[] | null; "expires_at": string }

interface Answer64 { "id": string; "label": string; "role": "viewer" | "approver" | "admin"; "groups": (string)[] | null; "scopes": ("read" | "approve" | "override" | "hosts" | "admin")[] | null; "state": "active" | "expired" | "suspended"; "created_by": string; "created_at": string; "expires_at": string; "last_used_at": string | null; "token": string }

interface Item49 { "id": string; "provider_id": string; "provider_name": string; "issuer": string; "subject": string; "created_by": string; "created_at": string; "last_used_at": string | null }

interface Mapping { "group": string; "role": "viewer" | "approver" | "admin"; "groups": (string)[] | null }

interface Item50 { "id": string; "issuer": string; "name": string; "client_id": string; "client_auth": "client_secret_basic" | "client_secret_post"; "scopes": (string)[]; "group_claim": string; "username_claim": string; "mapping": (Mapping)[]; "default_grant": { "role": "viewer" | "approver" | "admin"; "groups": (string)[] | null } | null; "creates_operators": boolean; "factor_values": (string)[]; "acr_values": string | null; "enabled": boolean; "operators": number; "redirect_uri": string; "logout_uri": string; "created_by": string; "created_at": string; "changed_at": string }

interface Answer65 { "items": (Item50)[]; "next_cursor": string | null; "total": number }

interface Body25 { "id": string; "issuer": string; "name": string; "client_id": string; "client_secret": string; "client_auth"?: "client_secret_basic" | "client_secret_post"; "scopes"?: (string)[]; "group_claim"?: string; "username_claim"?: string; "mapping"?: (Mapping)[]; "default_grant"?: { "role": "viewer" | "approver" | "admin"; "groups": (string)[] | null } | null; "creates_operators"?: boolean; "factor_values"?: (string)[]; "acr_values"?: string | null; "enabled"?: boolean }

interface Body26 { "name"?: string; "client_id"?: string; "client_auth"?: "client_secret_basic" | "client_secret_post"; "scopes"?: (string)[]; "group_claim"?: string; "username_claim"?: string; "mapping"?: (Mapping)[]; "default_grant"?: { "role": "viewer" | "approver" | "admin"; "groups": (string)[] | null } | null; "creates_operators"?: boolean; "factor_values"?: (string)[]; "acr_values"?: string | null; "enabled"?: boolean; "client_secret"?: string }

interface Check { "check": "discovery" | "issuer" | "endpoints" | "clock" | "algorithms" | "keys" | "client" | "claims" | "logout"; "outcome": "passed" | "failed" | "warning" | "skipped"; "text": string }

interface Answer66 { "passed": boolean; "checks": (Check)[]; "redirect_uri": string }

interface Body27 { "provider_id": string; "issuer"?: string; "subject": string }

interface Restored { "event_id": string; "at": string; "details": { [name: string]: unknown } }

interface Resync { "id": string; "opened_at": string; "closes_at": string; "opened_by": string; "reason": string; "resynced": number }

interface Answer67 { "epoch": number; "restored": Restored | null; "active_families": number; "resync": Resync | null }

interface Wait { "kind": "host_revoked" | "plan" | "hold" | "ring" | "decision" | "second_signature" | "blackout" | "time" | "host_offline" | "other_command" | "check_in" | "receipt" | "start" | "download" | "installation" | "end" | "reboot" | "restart"; "text": string; "until": string | null; "since": string | null; "id": string | null }

interface Answer68 { "as_of": string; "command": Item13 | null; "waits": (Wait)[] }

interface Item51 { "kind": "clone_suspected" | "revoked" | "credentials_ended" | "other_machine" | "unbound" | "never_seen" | "offline" | "packages_broken" | "transaction_interrupted" | "space_insufficient" | "packages_locked" | "agent_too_old" | "clock_wrong" | "probes_red" | "command_failed" | "packages_unknown" | "packages_incomplete" | "lists_stale" | "reboot_needed" | "services_restart"; "since": string | null; "urgent": boolean; "text": string; "why": string; "mend": "decide_clone" | "enrol" | "rebind" | "see_events" | "repair" | "see_condition" | "update_agent" | "see_probes" | "see_command" | "scan" | "see_restarts" | null; "command_id": string | null }

interface Clear { "count": number; "as_of": string; "opens": { "list": "agents" | "updates" | "commands" | "events" | "divergences" | "signing-keys" | "registration-tokens" | "notification-deliveries"; "filter": { [name: string]: string } } | null }

interface Waiting { "clear": Clear; "vulnerable": Clear; "unchecked": Clear; "not_judged": Clear }

interface Backup { "taken_at": string | null; "bytes": number | null; "due": boolean }

interface NeedsMe { "waiting": Waiting; "exploited": Clear; "critical_fixes": Clear; "fixes": Clear; "security": Clear; "judging_overdue": Clear; "stopped": Clear; "blocked": Clear; "failed": Clear; "approvals_undelivered": Clear; "clones_suspected": Clear; "hosts_unbound": Clear; "hosts_offline": Clear; "lists_stale": Clear; "clocks_wrong": Clear; "divergences_open": Clear | null; "keys_due": Clear | null; "registration_tokens_ending": Clear | null; "dead_letters": Clear | null; "backup": Backup | null }

interface Changed { "since": string; "installed": Clear; "failed": Clear; "approved": Clear; "new_updates": Clear; "hosts_enrolled": Clear }

interface Advisories { "status": "ok" | "loading" | "stale" | "missing" | "unreachable" | "off"; "data_as_of": string | null; "stale": ({ "ecosystem": string; "since": string })[]; "missing": (string)[] }

interface Clock { "ok": boolean; "behind_seconds": number; "as_of": string }

interface Lying { "machine_mismatches": Clear; "token_reuse": Clear; "unchecked": Clear; "advisories": Advisories; "clock": Clock; "restore": { "detected_at": string | null; "resync_open": boolean } }

interface Totals { "hosts": Clear; "hosts_bound": Clear; "hosts_online": Clear; "hosts_revoked": Clear; "updates_open": Clear; "hosts_current": Clear }

interface Held3 { "updates": number; "security_updates": number; "first_end": string | null; "last_end": string | null; "opens": { "list": "agents" | "updates" | "commands" | "events" | "divergences" | "signing-keys" | "registration-tokens" | "notification-deliveries"; "filter": { [name: string]: string } } }

interface Verdicts { "clear": number; "vulnerable": number; "unchecked": number; "not_judged": number; "as_of": string }

interface Answer69 { "as_of": string; "of": "fleet" | "groups"; "needs_me": NeedsMe; "changed": Changed; "lying": Lying; "totals": Totals; "held": Held3; "verdicts": Verdicts }

interface Open2 { "clear": number; "vulnerable": number; "unchecked": number; "not_judged": number }

interface Item52 { "day": string; "as_of": string; "complete": boolean; "open": Open2; "exposed": number; "exposed_hosts": number | null; "median_age_hours": number | null; "p95_age_hours": number | null; "hosts_seen": number }

interface Answer70 { "agent_id": string; "as_of": string; "slot_minutes": 30; "slots": ({ "from": string; "status": "seen" | "late" | "missed" | "unknown" })[] }

interface Day { "date": string; "starts_at": string; "ends_at": string }

interface Entry { "kind": "window" | "blackout" | "policy_ends" | "hold_ends" | "approvals_begin" | "approvals_expire"; "id": string | null; "name": string; "starts_at": string; "ends_at": string; "zone": string | null; "live": boolean; "actions": ("install" | "restart_services" | "reboot" | "update_agent")[]; "count": number | null }

interface Ran { "date": string; "policy_id": string | null; "policy_name": string | null; "approved": number | null; "installed": number; "failed": number; "refused": number }

interface Answer71 { "as_of": string; "zone": string; "days": (Day)[]; "entries": (Entry)[]; "truncated": boolean; "always": ({ "id": string; "name": string })[]; "ran": (Ran)[]; "ran_until": string | null }

interface Config { "kind": "webhook"; "url": string; "allow_http"?: boolean }

interface Config2 { "kind": "smtp"; "host": string; "port": number; "tls": "implicit" | "starttls" | "none"; "user": string | null; "from": string; "to": (string)[] }

interface Config3 { "kind": "ntfy"; "server": string; "topic": string; "allow_http"?: boolean }

interface Config4 { "kind": "matrix"; "server": string; "room": string; "allow_http"?: boolean }

interface Config5 { "kind": "telegram"; "server": string; "chat": string }

interface LastAttempt { "at": string; "is_delivered": boolean; "reason": string | null; "answer": string | null }

interface Item53 { "id": string; "name": string; "is_enabled": boolean; "config": Config | Config2 | Config3 | { "kind": "slack" } | { "kind": "teams" } | Config4 | { "kind": "discord" } | Config5; "has_secret": boolean; "receiver_key": string | null; "state": "off" | "idle" | "working" | "failing" | "paused"; "failures_in_a_row": number; "next_try_at": string | null; "last_attempt": LastAttempt | null; "waiting": number; "dead": number; "rules": number; "created_by": string; "created_at": string; "updated_at": string }

interface Body28 { "name": string; "is_enabled": boolean; "config": Config | Config2 | Config3 | { "kind": "slack" } | { "kind": "teams" } | Config4 | { "kind": "discord" } | Config5; "secret"?: string | null }

interface Answer72 { "is_delivered": boolean; "explanation": string; "answer": string | null; "is_permanent": boolean; "delivery_id": string }

interface Conditions { "event_types": ("MACHINE_ID_MISMATCH" | "REFRESH_TOKEN_REUSE" | "REFRESH_GRACE_USED" | "REFRESH_RESYNC" | "MACHINE_REBOUND" | "MACHINE_BOUND" | "AGENT_ENROLLED" | "ENROLMENT_REFUSED" | "AGENT_REVOKED" | "HOST_GROUP_CHANGED" | "HOST_TAGS_CHANGED" | "COMMAND_REFUSED" | "PLAN_DRIFT" | "ARTIFACT_MISMATCH" | "ARTIFACT_DIVERGENCE" | "ARTIFACT_DIVERGENCE_DECIDED" | "ARTIFACT_DIVERGENCE_UNDONE" | "ARTIFACT_LEDGER_FLOOD" | "ARTIFACT_HOST_TRUSTED" | "CLONE_SUSPECTED" | "CLONE_DISMISSED" | "AGENT_ERROR" | "SIGNING_KEY_ADDED" | "SIGNING_KEY_REVOKED" | "SIGNING_ROOT_CHANGED" | "LOGIN_FAILED" | "LOGIN_SUCCEEDED" | "LOGINS_SLOWED" | "SECOND_FACTOR_ASKED" | "STEP_UP_FAILED" | "STEP_UP_SUCCEEDED" | "FACTOR_ADDED" | "FACTOR_REMOVED" | "FACTORS_RESET" | "RECOVERY_CODE_USED" | "PASSKEY_CLONE_SUSPECTED" | "SESSION_REVOKED" | "OPERATOR_CHANGED" | "IDENTITY_PROVIDER_CHANGED" | "IDENTITY_CHANGED" | "API_TOKEN_CREATED" | "API_TOKEN_REVOKED" | "REGISTRATION_TOKEN_CHANGED" | "FLEET_LOCK_TOKEN_CHANGED" | "RATE_LIMITS_CHANGED" | "NOTIFICATION_CHANNEL_CHANGED" | "NOTIFICATION_RULE_CHANGED" | "OUTSIDER_BUDGET_SPENT" | "RESTORE_DETECTED" | "ROW_SEAL_BROKEN" | "ROWS_SEALED" | "supply_chain_override" | "approval_blocked" | "bulk_approval_asked" | "bulk_approval_blocked" | "age_exception_added" | "age_exception_ended" | "vulnerability_policy_changed" | "vex_statement_added" | "vex_statement_revoked" | "vex_statement_expired" | "blackout_created" | "blackout_ended" | "hold_placed" | "hold_released" | "hold_expired" | "fix_appeared" | "exploited_fix_waits" | "mitigation_noted" | "origin_registered" | "origin_revoked" | "origin_expired" | "policy_published" | "policy_revoked" | "policy_suspended" | "policy_expired" | "policy_window_ahead" | "rollout_started" | "rollout_ring_entered" | "rollout_ring_approved" | "rollout_expedited" | "rollout_halted" | "rollout_resumed" | "rollout_cancelled" | "rollout_finished" | "update_approved" | "approval_countersigned" | "update_installed" | "update_failed" | "rollback_requested" | "repair_ordered" | "repair_ended" | "reboots_asked" | "reboot_ended" | "reboots_halted" | "reboot_slot_released" | "reboot_limits_changed" | "fleet_lock_changed" | "agent_offline" | "probes_red" | "probes_recovered" | "notification_channel_failing" | "notification_channel_recovered" | "advisories_stale" | "advisories_replaced" | "events_pruned" | "events_missed" | "shared_view_changed")[]; "minimum_severity": "info" | "warning" | "error" | "critical"; "groups": (string)[]; "ecosystems": ("npm" | "pypi" | "apt" | "dnf" | "tidegate")[]; "exploited_only": boolean }

interface QuietHours { "from": string; "until": string; "zone": string; "weekdays": (number)[] }

interface Mode { "kind": "digest"; "at": string; "zone": string; "weekdays": (number)[] }

interface Mode2 { "kind": "escalation"; "after_hours": number; "repeat_hours": number; "repeats_max": number }

interface Item54 { "id": string; "name": string; "is_enabled": boolean; "channel_id": string; "conditions": Conditions; "quiet_hours": QuietHours | null; "mode": { "kind": "at_once"; "batch_seconds": number } | Mode | Mode2; "channel_name": string; "next_digest_at": string | null; "quiet_until": string | null; "created_by": string; "created_at": string; "updated_at": string }

interface Body29 { "name": string; "is_enabled": boolean; "channel_id": string; "conditions": Conditions; "quiet_hours": QuietHours | null; "mode": { "kind": "at_once"; "batch_seconds": number } | Mode | Mode2 }

interface Sample { "at": string; "severity": "info" | "warning" | "error" | "critical"; "text": string }

interface Answer73 { "since": string; "matches": number; "messages": number; "is_complete": boolean; "samples": (Sample)[] }

interface Item55 { "id": string; "kind": "events" | "digest" | "escalation" | "test"; "state": "waiting" | "delivered" | "dead"; "channel_id": string; "channel_name": string; "rule_id": string | null; "rule_name": string | null; "subject": string; "severity": "info" | "warning" | "error" | "critical"; "events": number; "updates": number; "attempts": number; "created_at": string; "next_attempt_at": string | null; "ended_at": string | null; "last_attempt": LastAttempt | null }

interface Answer74 { "items": (Item55)[]; "next_cursor": string | null; "total": number }

interface Answer75 { "id": string; "kind": "events" | "digest" | "escalation" | "test"; "state": "waiting" | "delivered" | "dead"; "channel_id": string; "channel_name": string; "rule_id": string | null; "rule_name": string | null; "subject": string; "severity": "info" | "warning" | "error" | "critical"; "events": number; "updates": number; "attempts": number; "created_at": string; "next_attempt_at": string | null; "ended_at": string | null; "last_attempt": LastAttempt | null; "summary": string; "sections": ({ "title": string; "items": ({ "text": string; "link": string | null })[] })[]; "link": string | null; "tries": (LastAttempt)[] }

interface Answer76 { "id": string; "at": string; "severity": "info" | "warning" | "error" | "critical"; "subject": string | null; "summary": string | null; "updates": (Item10)[]; "left_out": number }

interface Answer77 { "status": "ok" | "degraded"; "version": string; "uptime_seconds": number; "checks": { "database": "ok" | "down"; "advisories": "ok" | "loading" | "stale" | "missing" | "unreachable" | "off" } }

interface Body30 { "error_type": "javascript_error" | "api_error" | "ui_error" | "validation_error" | "client_debug" | "client_trace"; "message": string; "subsystem"?: string; "url"?: string; "stack"?: string; "metadata"?: { [name: string]: string | number | boolean | null } }

interface Item56 { "id": string; "name": string; "page": "updates" | "packages" | "hosts"; "query": { [name: string]: string | boolean }; "shared": boolean; "own": boolean; "created_by": string; "created_at": string }

interface Answer78 { "items": (Item56)[]; "next_cursor": string | null; "total": number }

interface Body31 { "name": string; "page": "updates" | "packages" | "hosts"; "query": { [name: string]: string | boolean }; "shared"?: boolean }

export interface Api {
  /** Events in the order of the log, newest first by default */
  "GET /api/v1/events": {
    query?: { "limit"?: string; "cursor"?: string; "sort"?: "created_at" | "-created_at"; "kind"?: "security" | "system"; "type"?: string; "about"?: "administration"; "severity"?: "info" | "warning" | "error" | "critical"; "component"?: string; "agent_id"?: string; "q"?: string; "since"?: string; "until"?: string };
    answer: Answer;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** One event */
  "GET /api/v1/events/{id}": {
    path: { "id": string };
    answer: Item;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Rate limits in force */
  "GET /api/v1/admin/rate-limits": {
    answer: { "classes": Classes; "startup_penalty": { "active": boolean; "ends_at": string } };
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Change rate limits; omitted classes keep theirs */
  "PUT /api/v1/admin/rate-limits": {
    body: { "classes": Classes2 };
    answer: { "classes": Classes; "startup_penalty": { "active": boolean; "ends_at": string } };
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Reset rate limits to their defaults */
  "POST /api/v1/admin/rate-limits/reset": {
    answer: { "classes": Classes; "startup_penalty": { "active": boolean; "ends_at": string } };
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Hosts, sorted and filtered, page by page */
  "GET /api/v1/agents": {
    query?: { "limit"?: string; "cursor"?: string; "sort"?: "hostname" | "last_seen_at" | "status" | "pending_updates" | "os" | "enrolled_at" | "-hostname" | "-last_seen_at" | "-status" | "-pending_updates" | "-os" | "-enrolled_at"; "q"?: string; "status"?: "online" | "offline" | "never" | "bound" | "unbound" | "revoked" | "clone_suspected" | "needs_attention"; "os"?: string; "ecosystem"?: "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "agent_version"?: string; "online"?: "true" | "false"; "clone_suspected"?: "true" | "false"; "group"?: string; "tag"?: string; "services_restart"?: "needed" | "not_needed" | "unknown"; "reboot"?: "needed" | "not_needed" | "unknown"; "probes"?: "green" | "red" | "unknown" | "none"; "lists"?: "stale" | "current" | "unknown"; "clock"?: "wrong" | "right" | "unknown"; "cve"?: string; "package"?: string; "up_to_date"?: "true" | "false"; "below"?: string };
    answer: Answer2;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** One host */
  "GET /api/v1/agents/{agent_id}": {
    path: { "agent_id": string };
    answer: Item2;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Delete a host; its machine may enrol again */
  "DELETE /api/v1/agents/{agent_id}": {
    path: { "agent_id": string };
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Put a host into a group, or into none */
  "PATCH /api/v1/agents/{agent_id}": {
    path: { "agent_id": string };
    body: { "group": string | null };
    answer: Item2;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Revoke the credentials of a host permanently */
  "POST /api/v1/agents/{agent_id}/revoke": {
    path: { "agent_id": string };
    body?: { "reason"?: string } | null;
    answer: Item2;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Dismiss the suspicion that a host is cloned */
  "POST /api/v1/agents/{agent_id}/dismiss-clone": {
    path: { "agent_id": string };
    body: { "reason": string };
    answer: Item2;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Clear the machine binding of a host */
  "POST /api/admin/agents/{agent_id}/rebind-machine-id": {
    path: { "agent_id": string };
    body: { "reason": string };
    answer: Answer3;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Groups of hosts, by name */
  "GET /api/v1/groups": {
    query?: { "limit"?: string; "cursor"?: string };
    answer: Answer4;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Put many hosts into a group, or into none */
  "POST /api/v1/agents/group": {
    body: { "agent_ids": (string)[]; "group": string | null };
    answer: { "moved": (string)[]; "not_found": (string)[] };
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Tags that hosts have: what operators set, by key and value, then what hosts report */
  "GET /api/v1/tags": {
    query?: { "limit"?: string; "cursor"?: string };
    answer: { "items": (Item4)[]; "next_cursor": string | null };
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Set and remove tags of hosts */
  "POST /api/v1/agents/tags": {
    body: Body;
    answer: { "changed": (string)[]; "not_found": (string)[] };
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Why a host, or services on it, need a restart */
  "GET /api/v1/agents/{agent_id}/restarts": {
    path: { "agent_id": string };
    answer: { "report": Report | null; "received_at": string | null };
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Active signing keys, and the key sets after the one that the caller has */
  "GET /api/v1/public-keys": {
    query?: { "since"?: string; "root_since"?: string };
    answer: Answer5;
    code: "internal_error" | "invalid_request" | "rate_limited";
  };
  /** Signing keys */
  "GET /api/v1/admin/signing-keys": {
    query?: { "limit"?: string; "cursor"?: string; "due"?: "true" };
    answer: Answer6;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Add a signing key: generated by the server, or given as a public key */
  "POST /api/v1/admin/signing-keys": {
    body: { "public_key_hex"?: string };
    answer: Answer7;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Sign with this key from now on */
  "POST /api/v1/admin/signing-keys/{version}/use": {
    path: { "version": string };
    answer: Answer7;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Revoke a signing key permanently; `force` even if hosts have to enrol again */
  "POST /api/v1/admin/signing-keys/{version}/revoke": {
    path: { "version": string };
    query?: { "force"?: "true" | "false" };
    answer: Answer7;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** List registration tokens, newest first */
  "GET /api/v1/admin/registration-tokens": {
    query?: { "limit"?: string; "cursor"?: string; "ending"?: "true" };
    answer: Answer8;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Make a registration token; the secret is shown once */
  "POST /api/v1/admin/registration-tokens": {
    body: Body2;
    answer: Answer9;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** One registration token */
  "GET /api/v1/admin/registration-tokens/{id}": {
    path: { "id": string };
    answer: Item6;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Withdraw a registration token */
  "DELETE /api/v1/admin/registration-tokens/{id}": {
    path: { "id": string };
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** The packages of the agent that hosts can download from this server */
  "GET /api/v1/admin/agent-packages": {
    answer: Answer10;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Artifacts with more than one hash, newest first */
  "GET /api/v1/artifacts/divergences": {
    query?: { "limit"?: string; "cursor"?: string; "open"?: "true" | "false" };
    answer: Answer11;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** One artifact with more than one hash */
  "GET /api/v1/artifacts/divergences/{id}": {
    path: { "id": string };
    answer: Item7;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Reports of an artifact with more than one hash, oldest first */
  "GET /api/v1/artifacts/divergences/{id}/sightings": {
    path: { "id": string };
    answer: { "items": (Item8)[] };
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Decide several divergences one by one; the answer names those that failed */
  "POST /api/v1/artifacts/divergences/decide": {
    body: { "decisions": (Decision)[]; "reason": string };
    answer: { "decided": (string)[]; "failed": ({ "id": string; "reason": "not_found" | "hash_of_another_kind" | "count_differs" })[] };
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Accept one hash of an artifact, or all of them; the others stay blocked */
  "POST /api/v1/artifacts/divergences/{id}/decide": {
    path: { "id": string };
    body: Body3;
    answer: Item7;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Undo an operator's decision; the registry and hosts decide again */
  "POST /api/v1/artifacts/divergences/{id}/undo": {
    path: { "id": string };
    body: { "reason": string };
    answer: Item7;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Hosts whose reports about artifacts are ignored */
  "GET /api/v1/artifacts/hosts-set-aside": {
    query?: { "limit"?: string; "cursor"?: string; "agent_id"?: string };
    answer: Answer12;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Trust a host's reports about artifacts again */
  "POST /api/v1/artifacts/hosts-set-aside/{agent_id}/trust": {
    path: { "agent_id": string };
    body: { "reason": string };
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Updates, sorted and filtered, page by page */
  "GET /api/v1/updates": {
    query?: { "limit"?: string; "cursor"?: string; "sort"?: "discovered_at" | "name" | "hostname" | "severity" | "exploited" | "urgency" | "state" | "updated_at" | "-discovered_at" | "-name" | "-hostname" | "-severity" | "-exploited" | "-urgency" | "-state" | "-updated_at"; "state"?: "pending" | "awaiting_plan" | "approved" | "installing" | "installed" | "failed" | "rejected" | "superseded"; "open"?: "true" | "false" | boolean; "ecosystem"?: "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "name"?: string; "q"?: string; "agent_id"?: string; "group"?: string; "tag"?: string; "severity"?: "none" | "low" | "medium" | "high" | "critical" | "unknown"; "verdict"?: "clear" | "vulnerable" | "unchecked" | "not_judged"; "stopped_under"?: "any" | "introduced"; "blocked"?: "true" | "false" | boolean; "security"?: "true" | "false" | boolean; "held"?: "true" | "false" | boolean; "exploited"?: "true" | "false" | boolean; "cve"?: string; "introduces"?: "true" | "false" | boolean; "stays"?: "true" | "false" | boolean; "fixes"?: "true" | "false" | boolean; "fixes_severity"?: "none" | "low" | "medium" | "high" | "critical" | "unknown"; "fixes_exploited"?: "true" | "false" | boolean; "offer"?: "series" | "newest" | "smallest_fix"; "max_change"?: "patch" | "minor" | "any"; "alternatives"?: "true" | "false" | boolean; "os"?: string; "host"?: string; "since"?: string; "until"?: string };
    answer: Answer13;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Hosts with updates that wait for a decision, and what these fix */
  "GET /api/v1/updates/by-host": {
    query?: { "limit"?: string; "cursor"?: string; "sort"?: "urgency" | "updates" | "hostname" | "-urgency" | "-updates" | "-hostname"; "open"?: "true" | "false" | boolean; "ecosystem"?: "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "name"?: string; "q"?: string; "agent_id"?: string; "group"?: string; "tag"?: string; "severity"?: "none" | "low" | "medium" | "high" | "critical" | "unknown"; "verdict"?: "clear" | "vulnerable" | "unchecked" | "not_judged"; "stopped_under"?: "any" | "introduced"; "blocked"?: "true" | "false" | boolean; "security"?: "true" | "false" | boolean; "held"?: "true" | "false" | boolean; "exploited"?: "true" | "false" | boolean; "cve"?: string; "introduces"?: "true" | "false" | boolean; "stays"?: "true" | "false" | boolean; "fixes"?: "true" | "false" | boolean; "fixes_severity"?: "none" | "low" | "medium" | "high" | "critical" | "unknown"; "fixes_exploited"?: "true" | "false" | boolean; "offer"?: "series" | "newest" | "smallest_fix"; "max_change"?: "patch" | "minor" | "any"; "alternatives"?: "true" | "false" | boolean; "os"?: string; "host"?: string; "since"?: string; "until"?: string };
    answer: Answer14;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** One update with its plan, its history and the verdict of the gate */
  "GET /api/v1/updates/{id}": {
    path: { "id": string };
    answer: Answer15;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Updates of all hosts, grouped by package */
  "GET /api/v1/packages": {
    query?: { "limit"?: string; "cursor"?: string; "sort"?: "name" | "hosts" | "updates" | "newest" | "severity" | "urgency" | "-name" | "-hosts" | "-updates" | "-newest" | "-severity" | "-urgency"; "state"?: "pending" | "awaiting_plan" | "approved" | "installing" | "installed" | "failed" | "rejected" | "superseded"; "open"?: "true" | "false" | boolean; "ecosystem"?: "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "name"?: string; "q"?: string; "agent_id"?: string; "group"?: string; "tag"?: string; "severity"?: "none" | "low" | "medium" | "high" | "critical" | "unknown"; "verdict"?: "clear" | "vulnerable" | "unchecked" | "not_judged"; "stopped_under"?: "any" | "introduced"; "blocked"?: "true" | "false" | boolean; "security"?: "true" | "false" | boolean; "held"?: "true" | "false" | boolean; "exploited"?: "true" | "false" | boolean; "cve"?: string; "introduces"?: "true" | "false" | boolean; "stays"?: "true" | "false" | boolean; "fixes"?: "true" | "false" | boolean; "fixes_severity"?: "none" | "low" | "medium" | "high" | "critical" | "unknown"; "fixes_exploited"?: "true" | "false" | boolean; "offer"?: "series" | "newest" | "smallest_fix"; "max_change"?: "patch" | "minor" | "any"; "alternatives"?: "true" | "false" | boolean; "os"?: string; "host"?: string; "since"?: string; "until"?: string };
    answer: Answer16;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Commands by creation time, newest first by default */
  "GET /api/v1/commands": {
    query?: { "limit"?: string; "cursor"?: string; "sort"?: "created_at" | "-created_at"; "agent_id"?: string; "update_id"?: string; "bulk_id"?: string; "status"?: "pending" | "sent" | "received" | "running" | "success" | "failed" | "refused" | "interrupted" | "expired" | "cancelled"; "action"?: "scan" | "plan_update" | "install_update" | "repair" | "reboot" | "restart_services" | "update_agent" | "refresh_keys" | "set_polling" | "run_probes"; "due"?: "true" | "false"; "since"?: string; "until"?: string };
    answer: Answer17;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** One command */
  "GET /api/v1/commands/{id}": {
    path: { "id": string };
    answer: Item13;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Cancel a command that its agent has not acknowledged, or call off a reboot that has not begun */
  "POST /api/v1/commands/{id}/cancel": {
    path: { "id": string };
    answer: Item13;
    code: "access_token_expired" | "access_token_invalid" | "command_finished" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Retry a command that ended without success, as a new command */
  "POST /api/v1/commands/{id}/retry": {
    path: { "id": string };
    answer: { "command_id": string };
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Ask a host to scan */
  "POST /api/v1/agents/{agent_id}/scan": {
    path: { "agent_id": string };
    body?: { "ecosystems"?: ("npm" | "pypi" | "apt" | "dnf" | "tidegate")[] } | null;
    answer: { "command_id": string };
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Ask a host to reboot */
  "POST /api/v1/agents/{agent_id}/reboot": {
    path: { "agent_id": string };
    body?: { "cause"?: string; "warn_minutes"?: number } | null;
    answer: { "command_id": string };
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Ask a host to restart services that run replaced files */
  "POST /api/v1/agents/{agent_id}/restart-services": {
    path: { "agent_id": string };
    body?: { "units"?: (string)[] } | null;
    answer: { "command_id": string };
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Set how often a host checks in */
  "POST /api/v1/agents/{agent_id}/polling": {
    path: { "agent_id": string };
    body: { "interval_seconds": number };
    answer: { "command_id": string };
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** The probes of a host, each with its state and since when */
  "GET /api/v1/agents/{agent_id}/probes": {
    path: { "agent_id": string };
    answer: Answer18;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Have a host run its probes */
  "POST /api/v1/agents/{agent_id}/probes/run": {
    path: { "agent_id": string };
    answer: { "command_id": string };
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Reboots and restarts of services by host, newest first */
  "GET /api/v1/reboots": {
    query?: { "limit"?: string; "cursor"?: string; "state"?: "queued" | "running" | "rebooted" | "done" | "failed" | "cancelled" | "expired"; "kind"?: "reboot" | "restart_services"; "agent_id"?: string };
    answer: Answer19;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Queue hosts for a reboot, or for a restart of the services that run replaced files */
  "POST /api/v1/reboots": {
    body: Body4;
    answer: Answer20;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** One host in the queue */
  "GET /api/v1/reboots/{id}": {
    path: { "id": string };
    answer: Item14;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Take a host out of the queue, or have it call off a reboot that has not begun */
  "DELETE /api/v1/reboots/{id}": {
    path: { "id": string };
    answer: Item14;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** How many hosts of each group may be down at once, and which are */
  "GET /api/v1/reboot-slots": {
    answer: { "items": (Item15)[] };
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Set how many hosts of a group may be down at once */
  "PUT /api/v1/reboot-slots": {
    body: Body5;
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Free the slot of a host that failed: the next one of its group may go down */
  "POST /api/v1/reboot-slots/{id}/release": {
    path: { "id": string };
    body: { "reason": string };
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Packages that a host reported as installed, page by page */
  "GET /api/v1/agents/{agent_id}/inventory": {
    path: { "agent_id": string };
    query?: { "limit"?: string; "cursor"?: string; "sort"?: "name" | "-name"; "q"?: string; "ecosystem"?: "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "update"?: "true" | "false"; "verdict"?: "clear" | "vulnerable" | "unchecked" };
    answer: Answer21;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Finish the packages that dpkg has left unfinished on a host */
  "POST /api/v1/agents/{agent_id}/repair": {
    path: { "agent_id": string };
    body: { "repair_sha256": string };
    answer: { "command_id": string };
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Packages that a host installed, changed or removed, the newest first */
  "GET /api/v1/agents/{agent_id}/inventory/changes": {
    path: { "agent_id": string };
    query?: { "limit"?: string; "cursor"?: string; "q"?: string; "ecosystem"?: "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "kind"?: "installed" | "removed" | "changed" | "held" | "released" | "described"; "cause"?: "tidegate" | "outside"; "since"?: string; "until"?: string };
    answer: Answer22;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Packages that a host had installed at a time, by name; now, unless a time is given */
  "GET /api/v1/agents/{agent_id}/inventory/at": {
    path: { "agent_id": string };
    query?: { "limit"?: string; "cursor"?: string; "at"?: string; "q"?: string; "ecosystem"?: "npm" | "pypi" | "apt" | "dnf" | "tidegate" };
    answer: Answer23;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Packages of a host that differ between two times, by name */
  "GET /api/v1/agents/{agent_id}/inventory/difference": {
    path: { "agent_id": string };
    query: { "limit"?: string; "cursor"?: string; "from": string; "to"?: string; "q"?: string; "ecosystem"?: "npm" | "pypi" | "apt" | "dnf" | "tidegate" };
    answer: Answer24;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Progress of a bulk request */
  "GET /api/v1/bulk/{progress_id}": {
    path: { "progress_id": string };
    answer: Answer25;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** The answer of a bulk request that has ended, even if its client disconnected */
  "GET /api/v1/bulk/{progress_id}/result": {
    path: { "progress_id": string };
    answer: Answer26;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Approve one update */
  "POST /api/v1/updates/{id}/approve": {
    path: { "id": string };
    body?: Body6 | null;
    answer: Answer27 | { "update_id": string; "state": "awaiting_plan" };
    code: "access_token_expired" | "access_token_invalid" | "approval_blocked" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "override_reason_required" | "payload_too_large" | "plan_required" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type" | "verdict_pending";
  };
  /** Approve several updates; takes no override */
  "POST /api/v1/updates/approve": {
    body: { "update_ids": (string)[]; "progress_id"?: string } | Body7;
    answer: Answer26;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** What an approval of several updates would do now; approves nothing */
  "POST /api/v1/updates/preview": {
    body: { "update_ids": (string)[]; "progress_id"?: string } | Body7;
    answer: Answer28;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** The gate's verdict, without minting an approval */
  "POST /api/v1/updates/{id}/preview": {
    path: { "id": string };
    answer: Answer29;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type" | "verdict_pending";
  };
  /** Reject an update */
  "POST /api/v1/updates/{id}/reject": {
    path: { "id": string };
    body?: { "reason"?: string } | null;
    answer: { "update_id": string; "state": "pending" | "rejected" };
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Set an update back to pending; withdraws its approval */
  "POST /api/v1/updates/{id}/reopen": {
    path: { "id": string };
    body?: { "reason"?: string } | null;
    answer: { "update_id": string; "state": "pending" | "rejected" };
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** How an update came to be approved: by whom, through what, why against the gate, and signed by whom */
  "GET /api/v1/updates/{id}/approval": {
    path: { "id": string };
    answer: { "approval": Approval | null };
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Decisions about an update, newest first */
  "GET /api/v1/updates/{id}/decisions": {
    path: { "id": string };
    query?: { "limit"?: string; "cursor"?: string };
    answer: Answer30;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** One decision with its evidence */
  "GET /api/v1/decisions/{id}": {
    path: { "id": string };
    answer: Answer31;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** One decision as an in-toto statement, signed now by the key in use */
  "GET /api/v1/decisions/{id}/statement": {
    path: { "id": string };
    answer: KeySet;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Add a signature to the approval of an update */
  "POST /api/v1/updates/{id}/countersign": {
    path: { "id": string };
    body: { "keyid": string; "sig": string };
    answer: { "update_id": string; "token": KeySet };
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Exceptions from the age gate, newest first */
  "GET /api/v1/admin/age-exceptions": {
    query?: { "limit"?: string; "cursor"?: string };
    answer: Answer32;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Except one version from the age gate */
  "POST /api/v1/admin/age-exceptions": {
    body: Body8;
    answer: Item31;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** One exception */
  "GET /api/v1/admin/age-exceptions/{id}": {
    path: { "id": string };
    answer: Item31;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** End an exception */
  "DELETE /api/v1/admin/age-exceptions/{id}": {
    path: { "id": string };
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** The vulnerability policy in force, and how many open updates each policy stops */
  "GET /api/v1/admin/vulnerability-policy": {
    answer: Answer33;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Choose the vulnerability policy; 409 if the environment fixes it */
  "PUT /api/v1/admin/vulnerability-policy": {
    body: { "policy": "any" | "introduced" };
    answer: Answer33;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Statements about vulnerabilities, newest first, with those that have ended */
  "GET /api/v1/admin/vex-statements": {
    query?: { "limit"?: string; "cursor"?: string };
    answer: Answer34;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** State that a vulnerability does not affect a package, or that its risk is accepted */
  "POST /api/v1/admin/vex-statements": {
    body: Body9;
    answer: Answer35;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** One statement, with the envelope that the server signed */
  "GET /api/v1/admin/vex-statements/{id}": {
    path: { "id": string };
    answer: Answer35;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Revoke a statement. Approvals that were signed with it keep their token */
  "DELETE /api/v1/admin/vex-statements/{id}": {
    path: { "id": string };
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** All statements in force as one OpenVEX or CycloneDX document */
  "GET /api/v1/admin/vex-document": {
    query: { "format": "openvex" | "cyclonedx" };
    answer: unknown;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Import the statements of an OpenVEX or CycloneDX document, all or nothing */
  "POST /api/v1/admin/vex-document": {
    body: Body10;
    answer: Answer36;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Registered third-party origins, newest first, with those that have ended */
  "GET /api/v1/admin/origins": {
    query?: { "limit"?: string; "cursor"?: string };
    answer: Answer37;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Register a third-party origin by its signing key and suites */
  "POST /api/v1/admin/origins": {
    body: Body11;
    answer: Answer38;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** One registered origin, with the envelope that the server signed */
  "GET /api/v1/admin/origins/{id}": {
    path: { "id": string };
    answer: Answer38;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Revoke a registered origin. Approvals that were signed with it keep their token */
  "DELETE /api/v1/admin/origins/{id}": {
    path: { "id": string };
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Policies in their newest version, newest first, with those that have ended */
  "GET /api/v1/policies": {
    query?: { "limit"?: string; "cursor"?: string };
    answer: Answer39;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Publish a policy, which approves in the name of the caller until it ends */
  "POST /api/v1/policies": {
    body: Body12;
    answer: Answer40;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** One policy with the envelope that the server signed, and its versions */
  "GET /api/v1/policies/{id}": {
    path: { "id": string };
    answer: Answer40;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Replace a policy by a new version; one that has ended comes into force again */
  "PUT /api/v1/policies/{id}": {
    path: { "id": string };
    body: Body13;
    answer: Answer40;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Revoke a policy. What it has approved keeps its token */
  "DELETE /api/v1/policies/{id}": {
    path: { "id": string };
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** What a policy would do now: its hosts, what it would approve, and what it leaves and why */
  "GET /api/v1/policies/{id}/preview": {
    path: { "id": string };
    answer: Answer41;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** What a policy would have decided in the last 30 days, from the recorded decisions */
  "GET /api/v1/policies/{id}/backtest": {
    path: { "id": string };
    answer: Answer42;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** What a policy with this scope and these terms would have decided; stores nothing */
  "POST /api/v1/policies/backtest": {
    body: Body14;
    answer: Answer42;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** What a policy with this scope and these terms would do now; stores nothing */
  "POST /api/v1/policies/preview": {
    body: Body14;
    answer: Answer41;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Undo installations: take packages back to the versions before */
  "POST /api/v1/updates/rollback": {
    body: Body15;
    answer: { "requested": (Requested)[]; "skipped": (Skipped)[] };
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Rollouts of policies with rings, newest first, with those that have ended */
  "GET /api/v1/rollouts": {
    query?: { "limit"?: string; "cursor"?: string; "policy"?: string; "state"?: "running" | "halted" | "finished" | "cancelled" };
    answer: Answer43;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** One rollout: each ring with its outcomes and its gate, and what it waits for */
  "GET /api/v1/rollouts/{id}": {
    path: { "id": string };
    answer: Answer44;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Hosts of a rollout with their outcomes */
  "GET /api/v1/rollouts/{id}/hosts": {
    path: { "id": string };
    query?: { "limit"?: string; "cursor"?: string; "ring"?: string; "outcome"?: "waiting" | "offline" | "running" | "installed" | "failed" | "probe_failed" | "silent" | "refused" | "unfit" | "not_offered" };
    answer: Answer45;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Halt a rollout at once: nothing more is approved, and what no host has taken yet is withdrawn */
  "POST /api/v1/rollouts/{id}/halt": {
    path: { "id": string };
    body: { "reason": string };
    answer: Answer44;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Cancel a rollout: its versions are left to people, and newer ones need not wait for it */
  "POST /api/v1/rollouts/{id}/cancel": {
    path: { "id": string };
    body: { "reason": string };
    answer: Answer44;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Let a halted rollout go on; the hosts that have failed do not count any more */
  "POST /api/v1/rollouts/{id}/resume": {
    path: { "id": string };
    body: { "reason": string };
    answer: Answer44;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Skip the soak of the rings from now on; no ring and nothing of the gate is skipped */
  "POST /api/v1/rollouts/{id}/emergency": {
    path: { "id": string };
    body: { "reason": string };
    answer: Answer44;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Approve the gate of the ring that was entered last; its other conditions still have to be met */
  "POST /api/v1/rollouts/{id}/approve": {
    path: { "id": string };
    body: { "ring": number };
    answer: Answer44;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Undo what a rollout that stands still or has ended has installed on the hosts of a ring */
  "POST /api/v1/rollouts/{id}/rollback": {
    path: { "id": string };
    body: Body16;
    answer: Answer46;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Blackouts, newest first, with those that are over */
  "GET /api/v1/blackouts": {
    query?: { "limit"?: string; "cursor"?: string };
    answer: Answer47;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Withhold every change from hosts for a time, whoever approved it */
  "POST /api/v1/blackouts": {
    body: Body17;
    answer: Item37;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** One blackout, with its next occurrences */
  "GET /api/v1/blackouts/{id}": {
    path: { "id": string };
    answer: Item37;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** End a blackout before its time: what it withheld is delivered at once */
  "POST /api/v1/blackouts/{id}/end": {
    path: { "id": string };
    body: { "reason": string };
    answer: Item37;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Holds of packages, newest first, with those that have ended */
  "GET /api/v1/holds": {
    query?: { "limit"?: string; "cursor"?: string };
    answer: Answer48;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Keep packages as they are on hosts until a time: nothing that would change one is approved */
  "POST /api/v1/holds": {
    body: Body18;
    answer: Answer49;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** One hold, with what it keeps back now */
  "GET /api/v1/holds/{id}": {
    path: { "id": string };
    answer: Answer49;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Release held packages. Their updates still have to be approved */
  "DELETE /api/v1/holds/{id}": {
    path: { "id": string };
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Known vulnerabilities of what is installed that no pending update is judged to fix */
  "GET /api/v1/unfixed": {
    query?: { "limit"?: string; "cursor"?: string; "sort"?: "urgency" | "hosts" | "first_seen_at" | "-urgency" | "-hosts" | "-first_seen_at"; "exploited"?: "true" | "false" | "unknown"; "mitigated"?: "true" | "false"; "ecosystem"?: "npm" | "pypi" | "apt" | "dnf" | "tidegate"; "q"?: string };
    answer: Answer50;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** What the list of vulnerabilities without a fix rests on, and of how many hosts it does not know all */
  "GET /api/v1/unfixed/coverage": {
    answer: Answer51;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** The hosts that have such a vulnerability without a pending fix now */
  "GET /api/v1/unfixed/hosts": {
    query: { "limit"?: string; "cursor"?: string; "distribution": string; "package": string; "vulnerability": string };
    answer: { "items": (Item40)[]; "next_cursor": string | null };
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Note the hook that mitigates a vulnerability, or take the note back */
  "PUT /api/v1/unfixed/{id}/mitigation": {
    path: { "id": string };
    body: { "mitigation": { "hook": string; "note": string } | null };
    answer: Item39;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Known vulnerabilities of what is installed, the most urgent first */
  "GET /api/v1/vulnerabilities": {
    query?: { "limit"?: string; "cursor"?: string; "sort"?: "urgency" | "hosts" | "first_seen_at" | "-urgency" | "-hosts" | "-first_seen_at"; "severity"?: "none" | "low" | "medium" | "high" | "critical" | "unknown"; "exploited"?: "true" | "false" | "unknown"; "fix"?: "fixable" | "waiting" | "unfixed"; "cve"?: string; "q"?: string };
    answer: Answer52;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** What the list of vulnerabilities rests on, and what nobody could judge */
  "GET /api/v1/vulnerabilities/coverage": {
    answer: Answer53;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** One vulnerability, by its id or an alias */
  "GET /api/v1/vulnerabilities/{id}": {
    path: { "id": string };
    answer: Answer54;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** The hosts that have a vulnerability now, or had it, with what fixes it */
  "GET /api/v1/vulnerabilities/{id}/hosts": {
    path: { "id": string };
    query?: { "limit"?: string; "cursor"?: string; "state"?: "fixable" | "waiting" | "unfixed" | "fixed" };
    answer: { "items": (Item42)[]; "next_cursor": string | null };
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** What a host has installed, as a CycloneDX 1.6 SBOM */
  "GET /api/v1/agents/{agent_id}/sbom": {
    path: { "agent_id": string };
    answer: unknown;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** What the hosts of a group have installed, as a CycloneDX 1.6 SBOM */
  "GET /api/v1/sbom": {
    query: { "group": string };
    answer: unknown;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** What is known of the vulnerabilities of a host, as a VEX document */
  "GET /api/v1/agents/{agent_id}/vex": {
    path: { "agent_id": string };
    query?: { "format"?: "openvex" | "cyclonedx" };
    answer: unknown;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** What is known of the vulnerabilities of the hosts of a group, as a VEX document */
  "GET /api/v1/vex": {
    query: { "group": string; "format"?: "openvex" | "cyclonedx" };
    answer: unknown;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** What holds, the own holds of a host, and a blackout keep back of its updates now */
  "GET /api/v1/agents/{agent_id}/withheld": {
    path: { "agent_id": string };
    answer: Answer55;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Log in */
  "POST /api/v1/auth/login": {
    body: Body19;
    answer: Answer56;
    code: "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Log out and revoke the token */
  "POST /api/v1/auth/logout": {
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Whose session or API token this is */
  "GET /api/v1/auth/session": {
    answer: Answer57;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "unauthenticated" | "unavailable";
  };
  /** Create the first operator with the one-time secret; 404 once an operator exists */
  "POST /api/v1/auth/setup": {
    body: Body20;
    answer: Operator;
    code: "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "unavailable" | "unsupported_media_type";
  };
  /** Open sessions, newest first: your own, or an operator's for admins */
  "GET /api/v1/auth/sessions": {
    query?: { "limit"?: string; "cursor"?: string; "operator_id"?: string };
    answer: Answer58;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "unauthenticated" | "unavailable";
  };
  /** End all of your other sessions */
  "DELETE /api/v1/auth/sessions": {
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** End a session: your own, or anybody's for admins */
  "DELETE /api/v1/auth/sessions/{id}": {
    path: { "id": string };
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Change your password; ends your other sessions */
  "POST /api/v1/auth/password": {
    body: { "current_password": string; "new_password": string };
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Open sessions of every operator, newest first */
  "GET /api/v1/admin/sessions": {
    query?: { "limit"?: string; "cursor"?: string };
    answer: Answer59;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** End all sessions of all operators, except your own; API tokens stay */
  "DELETE /api/v1/admin/sessions": {
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** End all sessions of an operator, except your own; API tokens stay */
  "DELETE /api/v1/admin/operators/{id}/sessions": {
    path: { "id": string };
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Set up an authenticator app; the secret is shown once and inactive until confirmed */
  "POST /api/v1/auth/totp": {
    answer: { "secret": string; "otpauth_uri": string };
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Remove the authenticator app */
  "DELETE /api/v1/auth/totp": {
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Activate the authenticator app with its first code; returns ten recovery codes, once */
  "POST /api/v1/auth/totp/confirm": {
    body: { "code": string };
    answer: { "recovery_codes": (string)[] };
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Replace the recovery codes with ten new ones; shown once */
  "POST /api/v1/auth/recovery-codes": {
    answer: { "recovery_codes": (string)[] };
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Prove the password or a second factor again, for routes that demand a fresh proof */
  "POST /api/v1/auth/step-up": {
    body: { "password": string } | { "totp": string } | { "recovery_code": string } | { "challenge_id": string; "credential": Credential };
    answer: { "stepped_up_until": string };
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** What changed in your password, factors, sessions and API tokens: the newest 50 */
  "GET /api/v1/auth/notices": {
    answer: Answer60;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "unauthenticated" | "unavailable";
  };
  /** Mark the notices up to this one as seen */
  "POST /api/v1/auth/notices/seen": {
    body: { "until": string };
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Your passkeys */
  "GET /api/v1/auth/passkeys": {
    answer: Answer61;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "unauthenticated" | "unavailable";
  };
  /** Store the passkey that the browser made; the first factor returns recovery codes, once */
  "POST /api/v1/auth/passkeys": {
    body: Body21;
    answer: { "passkey": Item46; "recovery_codes": (string)[] | null };
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Options for a new passkey */
  "POST /api/v1/auth/passkeys/options": {
    answer: { "challenge_id": string; "options": { [name: string]: unknown } };
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Rename a passkey */
  "PATCH /api/v1/auth/passkeys/{id}": {
    path: { "id": string };
    body: { "name": string };
    answer: Item46;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Remove a passkey */
  "DELETE /api/v1/auth/passkeys/{id}": {
    path: { "id": string };
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Options for a step-up by passkey */
  "POST /api/v1/auth/step-up/options": {
    answer: { "challenge_id": string; "options": { [name: string]: unknown } };
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Options for a login by passkey, without a username */
  "POST /api/v1/auth/login/passkey/options": {
    answer: { "challenge_id": string; "options": { [name: string]: unknown } };
    code: "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "unavailable" | "unsupported_media_type";
  };
  /** Log in by passkey: alone, or after the password with the challenge from its answer */
  "POST /api/v1/auth/login/passkey": {
    body: { "challenge_id": string; "credential": Credential };
    answer: Answer56;
    code: "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Operators by name, with their second factors */
  "GET /api/v1/admin/operators": {
    query?: { "limit"?: string; "cursor"?: string; "q"?: string };
    answer: Answer62;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Add an operator */
  "POST /api/v1/admin/operators": {
    body: Body22;
    answer: Item47;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** One operator */
  "GET /api/v1/admin/operators/{id}": {
    path: { "id": string };
    answer: Item47;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Change role or password, disable or enable; not the last admin. A new password ends factors, sessions and API tokens, except those in `keep` */
  "PATCH /api/v1/admin/operators/{id}": {
    path: { "id": string };
    body: Body23;
    answer: Item47;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Delete an operator; not the last admin */
  "DELETE /api/v1/admin/operators/{id}": {
    path: { "id": string };
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Remove all second factors of an operator; ends its sessions and API tokens unless kept */
  "DELETE /api/v1/admin/operators/{id}/factors": {
    path: { "id": string };
    query?: { "keep"?: string };
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** API tokens that are not revoked, newest first */
  "GET /api/v1/admin/api-tokens": {
    query?: { "limit"?: string; "cursor"?: string };
    answer: Answer63;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Make an API token; the secret is shown once */
  "POST /api/v1/admin/api-tokens": {
    body: Body24;
    answer: Answer64;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Revoke an API token permanently */
  "DELETE /api/v1/admin/api-tokens/{id}": {
    path: { "id": string };
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Identity providers to log in by */
  "GET /api/v1/auth/providers": {
    answer: { "items": ({ "id": string; "name": string })[] };
    code: "internal_error" | "invalid_request" | "rate_limited";
  };
  /** Begin a login by an identity provider; the answer sets the cookie that the browser must come back with */
  "POST /api/v1/auth/login/provider": {
    body: { "provider_id": string; "next"?: string };
    answer: { "url": string };
    code: "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "unavailable" | "unsupported_media_type";
  };
  /** Begin a fresh proof by the identity provider that opened this session */
  "POST /api/v1/auth/step-up/provider": {
    body: { "next"?: string };
    answer: { "url": string };
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Accounts of identity providers that log you in */
  "GET /api/v1/auth/identities": {
    answer: { "items": (Item49)[]; "has_password": boolean };
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "unauthenticated" | "unavailable";
  };
  /** Begin to bind an account of an identity provider to yourself */
  "POST /api/v1/auth/identities": {
    body: { "provider_id": string; "next"?: string };
    answer: { "url": string };
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Unbind an account of yours; ends the sessions that it opened */
  "DELETE /api/v1/auth/identities/{id}": {
    path: { "id": string };
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Log out, and get the place to log out at the identity provider too */
  "POST /api/v1/auth/logout/provider": {
    answer: { "url": string | null };
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Identity providers by name */
  "GET /api/v1/admin/identity-providers": {
    answer: Answer65;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Add an identity provider; off unless `enabled` says otherwise */
  "POST /api/v1/admin/identity-providers": {
    body: Body25;
    answer: Item50;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** One identity provider */
  "GET /api/v1/admin/identity-providers/{id}": {
    path: { "id": string };
    answer: Item50;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Change an identity provider; ends its sessions where that changes who may do what */
  "PATCH /api/v1/admin/identity-providers/{id}": {
    path: { "id": string };
    body: Body26;
    answer: Item50;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Delete an identity provider with its accounts; ends its sessions */
  "DELETE /api/v1/admin/identity-providers/{id}": {
    path: { "id": string };
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Try an identity provider: what works without a person, and what is wrong, in words */
  "POST /api/v1/admin/identity-providers/{id}/test": {
    path: { "id": string };
    answer: Answer66;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Accounts of identity providers that log an operator in */
  "GET /api/v1/admin/operators/{id}/identities": {
    path: { "id": string };
    answer: { "items": (Item49)[]; "has_password": boolean };
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Bind an operator to an account, by issuer and subject */
  "POST /api/v1/admin/operators/{id}/identities": {
    path: { "id": string };
    body: Body27;
    answer: Item49;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Unbind an account of an operator; ends the sessions that it opened */
  "DELETE /api/v1/admin/operators/{id}/identities/{identity_id}": {
    path: { "id": string; "identity_id": string };
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Remove the password of an operator with an account; not of the last admin with one */
  "DELETE /api/v1/admin/operators/{id}/password": {
    path: { "id": string };
    answer: Item47;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** The newest restore, and the open resync */
  "GET /api/v1/admin/resync": {
    answer: Answer67;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Open a resync: each host with tokens newer than the restored database may resync once */
  "POST /api/v1/admin/resync": {
    body: { "hours": number; "reason": string };
    answer: Answer67;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Close the resync early */
  "DELETE /api/v1/admin/resync": {
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** What a command waits for */
  "GET /api/v1/commands/{id}/progress": {
    path: { "id": string };
    answer: Answer68;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Where the installation of an update stands, and what it waits for */
  "GET /api/v1/updates/{id}/progress": {
    path: { "id": string };
    answer: Answer68;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** What a host does now, or did last, and what that waits for */
  "GET /api/v1/agents/{agent_id}/progress": {
    path: { "agent_id": string };
    answer: Answer68;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** What is wrong with a host and what mends it, the most urgent first */
  "GET /api/v1/agents/{agent_id}/faults": {
    path: { "agent_id": string };
    answer: { "as_of": string; "items": (Item51)[] };
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** What needs attention, what changed, and which data may be stale or wrong */
  "GET /api/v1/overview": {
    answer: Answer69;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** The fleet day by day, oldest first */
  "GET /api/v1/overview/history": {
    query?: { "days"?: string };
    answer: { "items": (Item52)[] };
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Check-ins of a host in the last 24 hours */
  "GET /api/v1/agents/{agent_id}/heartbeats": {
    path: { "agent_id": string };
    answer: Answer70;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Windows, blackouts and ends on these days of a time zone, what ran on them and what is due */
  "GET /api/v1/calendar": {
    query: { "from": string; "days": string; "zone": string };
    answer: Answer71;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Channels of notifications, by name */
  "GET /api/v1/notifications/channels": {
    answer: { "items": (Item53)[] };
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Add a channel of notifications. Its secret is stored sealed, and never shown */
  "POST /api/v1/notifications/channels": {
    body: Body28;
    answer: Item53;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** One channel of notifications, and how it works */
  "GET /api/v1/notifications/channels/{id}": {
    path: { "id": string };
    answer: Item53;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Change a channel of notifications. Without a secret the stored one stays, if it goes to the same place */
  "PUT /api/v1/notifications/channels/{id}": {
    path: { "id": string };
    body: Body28;
    answer: Item53;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Remove a channel of notifications with its deliveries, also those that wait */
  "DELETE /api/v1/notifications/channels/{id}": {
    path: { "id": string };
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Send a test message now, and say in words how it went */
  "POST /api/v1/notifications/channels/{id}/test": {
    path: { "id": string };
    answer: Answer72;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Rules of notifications, by name */
  "GET /api/v1/notifications/rules": {
    answer: { "items": (Item54)[] };
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Add a rule of notifications. It speaks of what happens from now on */
  "POST /api/v1/notifications/rules": {
    body: Body29;
    answer: Item54;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** One rule of notifications */
  "GET /api/v1/notifications/rules/{id}": {
    path: { "id": string };
    answer: Item54;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Change a rule of notifications */
  "PUT /api/v1/notifications/rules/{id}": {
    path: { "id": string };
    body: Body29;
    answer: Item54;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Remove a rule of notifications. What it has queued is still sent */
  "DELETE /api/v1/notifications/rules/{id}": {
    path: { "id": string };
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** What a rule would have sent in the last 7 days, without its quiet hours. Nothing is sent or stored */
  "POST /api/v1/notifications/rules/preview": {
    body: Body29;
    answer: Answer73;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Deliveries of notifications, newest first */
  "GET /api/v1/notifications/deliveries": {
    query?: { "limit"?: string; "cursor"?: string; "state"?: "waiting" | "delivered" | "dead"; "kind"?: "events" | "digest" | "escalation" | "test"; "channel_id"?: string; "rule_id"?: string };
    answer: Answer74;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** One delivery with its text and its attempts */
  "GET /api/v1/notifications/deliveries/{id}": {
    path: { "id": string };
    answer: Answer75;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Send dead letters again, with the ids that they had. What was delivered, or waits, is left as it is */
  "POST /api/v1/notifications/deliveries/resend": {
    body: { "ids": (string)[] } | { "channel_id": string };
    answer: { "resent": number };
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** The updates that a notice speaks of, as they are now: what its link opens */
  "GET /api/v1/notifications/notices/{id}": {
    path: { "id": string };
    answer: Answer76;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Evidence of a span of time for an auditor, as one signed archive */
  "GET /api/v1/evidence": {
    query?: { "since"?: string; "until"?: string; "agent_id"?: string; "group"?: string };
    answer: unknown;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Health and version */
  "GET /api/health": {
    answer: Answer77;
    code: "internal_error" | "invalid_request";
  };
  /** Whether to send requests to this server */
  "GET /api/ready": {
    answer: { "status": "ready" };
    code: "internal_error" | "invalid_request" | "unavailable";
  };
  /** Report an error of the console */
  "POST /logs/client-error": {
    body: Body30;
    answer: { "accepted": true };
    code: "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "unavailable" | "unsupported_media_type";
  };
  /** Saved views: your own and shared ones */
  "GET /api/v1/views": {
    query?: { "limit"?: string; "cursor"?: string };
    answer: Answer78;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable";
  };
  /** Save a view; only an admin may share one */
  "POST /api/v1/views": {
    body: Body31;
    answer: Item56;
    code: "access_token_expired" | "access_token_invalid" | "conflict" | "forbidden" | "internal_error" | "invalid_request" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** Delete a view: your own, or a shared one for admins */
  "DELETE /api/v1/views/{id}": {
    path: { "id": string };
    answer: null;
    code: "access_token_expired" | "access_token_invalid" | "forbidden" | "internal_error" | "invalid_request" | "not_found" | "payload_too_large" | "rate_limited" | "second_factor_missing" | "step_up_required" | "unauthenticated" | "unavailable" | "unsupported_media_type";
  };
  /** This document, OpenAPI 3.1 */
  "GET /api/openapi.json": {
    answer: unknown;
    code: "internal_error" | "invalid_request" | "rate_limited";
  };
}

/** The members that each success has, by status; null: it has no body. */
export const SUCCESSES: Readonly<Record<keyof Api, Readonly<Record<number, readonly string[] | null>>>> = {
  "GET /api/v1/events": { 200: ["items","next_cursor","total"] },
  "GET /api/v1/events/{id}": { 200: ["id","kind","type","severity","component","agent_id","hostname","actor","content","created_at","previous_hash","hash"] },
  "GET /api/v1/admin/rate-limits": { 200: ["classes","startup_penalty"] },
  "PUT /api/v1/admin/rate-limits": { 200: ["classes","startup_penalty"] },
  "POST /api/v1/admin/rate-limits/reset": { 200: ["classes","startup_penalty"] },
  "GET /api/v1/agents": { 200: ["items","next_cursor","total"] },
  "GET /api/v1/agents/{agent_id}": { 200: ["id","hostname","group","tags","status","online","machine_id","os","agent_version","uptime_seconds","key_set_version","check_in_interval_seconds","enrolled_at","bound_at","last_seen_at","revoked_at","clone_suspected","restarts","pending_updates","held_updates"] },
  "DELETE /api/v1/agents/{agent_id}": { 204: null },
  "PATCH /api/v1/agents/{agent_id}": { 200: ["id","hostname","group","tags","status","online","machine_id","os","agent_version","uptime_seconds","key_set_version","check_in_interval_seconds","enrolled_at","bound_at","last_seen_at","revoked_at","clone_suspected","restarts","pending_updates","held_updates"] },
  "POST /api/v1/agents/{agent_id}/revoke": { 200: ["id","hostname","group","tags","status","online","machine_id","os","agent_version","uptime_seconds","key_set_version","check_in_interval_seconds","enrolled_at","bound_at","last_seen_at","revoked_at","clone_suspected","restarts","pending_updates","held_updates"] },
  "POST /api/v1/agents/{agent_id}/dismiss-clone": { 200: ["id","hostname","group","tags","status","online","machine_id","os","agent_version","uptime_seconds","key_set_version","check_in_interval_seconds","enrolled_at","bound_at","last_seen_at","revoked_at","clone_suspected","restarts","pending_updates","held_updates"] },
  "POST /api/admin/agents/{agent_id}/rebind-machine-id": { 200: ["agent_id","machine_id","rebind_at"] },
  "GET /api/v1/groups": { 200: ["items","next_cursor","total"] },
  "POST /api/v1/agents/group": { 200: ["moved","not_found"] },
  "GET /api/v1/tags": { 200: ["items","next_cursor"] },
  "POST /api/v1/agents/tags": { 200: ["changed","not_found"] },
  "GET /api/v1/agents/{agent_id}/restarts": { 200: ["report","received_at"] },
  "GET /api/v1/public-keys": { 200: ["keys","key_set"] },
  "GET /api/v1/admin/signing-keys": { 200: ["items","next_cursor","total"] },
  "POST /api/v1/admin/signing-keys": { 201: ["key_id","version","public_key_hex","status","created_at","revoked_at","in_use","awaits_root"] },
  "POST /api/v1/admin/signing-keys/{version}/use": { 200: ["key_id","version","public_key_hex","status","created_at","revoked_at","in_use","awaits_root"] },
  "POST /api/v1/admin/signing-keys/{version}/revoke": { 200: ["key_id","version","public_key_hex","status","created_at","revoked_at","in_use","awaits_root"] },
  "GET /api/v1/admin/registration-tokens": { 200: ["items","next_cursor","total"] },
  "POST /api/v1/admin/registration-tokens": { 201: ["id","label","seats","seats_used","group","tags","created_by","created_at","expires_at","token"] },
  "GET /api/v1/admin/registration-tokens/{id}": { 200: ["id","label","seats","seats_used","group","tags","created_by","created_at","expires_at"] },
  "DELETE /api/v1/admin/registration-tokens/{id}": { 204: null },
  "GET /api/v1/admin/agent-packages": { 200: ["version","files","faults","ca_sha256","is_ca_missing"] },
  "GET /api/v1/artifacts/divergences": { 200: ["items","next_cursor","total"] },
  "GET /api/v1/artifacts/divergences/{id}": { 200: ["id","ecosystem","distribution","name","version","variant","algorithm","state","settled_by","hashes","opened_at","decided_at","decided_by","reason"] },
  "GET /api/v1/artifacts/divergences/{id}/sightings": { 200: ["items"] },
  "POST /api/v1/artifacts/divergences/decide": { 200: ["decided","failed"] },
  "POST /api/v1/artifacts/divergences/{id}/decide": { 200: ["id","ecosystem","distribution","name","version","variant","algorithm","state","settled_by","hashes","opened_at","decided_at","decided_by","reason"] },
  "POST /api/v1/artifacts/divergences/{id}/undo": { 200: ["id","ecosystem","distribution","name","version","variant","algorithm","state","settled_by","hashes","opened_at","decided_at","decided_by","reason"] },
  "GET /api/v1/artifacts/hosts-set-aside": { 200: ["items","next_cursor","total"] },
  "POST /api/v1/artifacts/hosts-set-aside/{agent_id}/trust": { 204: null },
  "GET /api/v1/updates": { 200: ["items","next_cursor","total"] },
  "GET /api/v1/updates/by-host": { 200: ["items","next_cursor","total"] },
  "GET /api/v1/updates/{id}": { 200: ["id","agent_id","hostname","ecosystem","name","arch","current_version","available_version","origin","security","size_bytes","offers","change","recommended","state","state_reason","out_of_band","verdict","severity","known_exploited","epss","introduces","stays","fixes","fixes_severity","fixes_exploited","has_plan","siblings","rollback_of","not_before","discovered_at","updated_at","listed_siblings","plan","way_back","history","gate"] },
  "GET /api/v1/packages": { 200: ["items","next_cursor","total"] },
  "GET /api/v1/commands": { 200: ["items","next_cursor","total"] },
  "GET /api/v1/commands/{id}": { 200: ["id","agent_id","hostname","action","params","update_ids","packages","status","seq","created_by","created_at","not_before","expires_at","sent_at","received_at","started_at","installing_at","finished_at","reason","exit_code","output_tail","way_back","restarts","probes","hooks"] },
  "POST /api/v1/commands/{id}/cancel": { 200: ["id","agent_id","hostname","action","params","update_ids","packages","status","seq","created_by","created_at","not_before","expires_at","sent_at","received_at","started_at","installing_at","finished_at","reason","exit_code","output_tail","way_back","restarts","probes","hooks"] },
  "POST /api/v1/commands/{id}/retry": { 202: ["command_id"] },
  "POST /api/v1/agents/{agent_id}/scan": { 202: ["command_id"] },
  "POST /api/v1/agents/{agent_id}/reboot": { 202: ["command_id"] },
  "POST /api/v1/agents/{agent_id}/restart-services": { 202: ["command_id"] },
  "POST /api/v1/agents/{agent_id}/polling": { 202: ["command_id"] },
  "GET /api/v1/agents/{agent_id}/probes": { 200: ["state","since","at","probes"] },
  "POST /api/v1/agents/{agent_id}/probes/run": { 202: ["command_id"] },
  "GET /api/v1/reboots": { 200: ["items","next_cursor","total"] },
  "POST /api/v1/reboots": { 200: ["dry_run","queued","hosts","left_out"] },
  "GET /api/v1/reboots/{id}": { 200: ["id","agent_id","hostname","kind","state","waits_for","reason","warn_minutes","asked_by","asked_at","deadline","boot_id","new_boot_id","units","outcomes","attempts","not_before","blockers","detail","command_id","ended_at"] },
  "DELETE /api/v1/reboots/{id}": { 200: ["id","agent_id","hostname","kind","state","waits_for","reason","warn_minutes","asked_by","asked_at","deadline","boot_id","new_boot_id","units","outcomes","attempts","not_before","blockers","detail","command_id","ended_at"] },
  "GET /api/v1/reboot-slots": { 200: ["items"] },
  "PUT /api/v1/reboot-slots": { 204: null },
  "POST /api/v1/reboot-slots/{id}/release": { 204: null },
  "GET /api/v1/agents/{agent_id}/inventory": { 200: ["items","next_cursor","total","reports"] },
  "POST /api/v1/agents/{agent_id}/repair": { 202: ["command_id"] },
  "GET /api/v1/agents/{agent_id}/inventory/changes": { 200: ["items","next_cursor","total","ecosystems"] },
  "GET /api/v1/agents/{agent_id}/inventory/at": { 200: ["items","next_cursor","total","ecosystems"] },
  "GET /api/v1/agents/{agent_id}/inventory/difference": { 200: ["items","next_cursor","total","ecosystems"] },
  "GET /api/v1/bulk/{progress_id}": { 200: ["progress_id","state","done","total","approved","blocked","waiting","skipped","started_at","updated_at"] },
  "GET /api/v1/bulk/{progress_id}/result": { 200: ["approved","awaiting_plan","blocked","skipped"] },
  "POST /api/v1/updates/{id}/approve": { 200: ["update_id","state","token","warnings"], 202: ["update_id","state"] },
  "POST /api/v1/updates/approve": { 200: ["approved","awaiting_plan","blocked","skipped"] },
  "POST /api/v1/updates/preview": { 200: ["updates","hosts","transactions","unplanned","sets","left_out","left_out_count"] },
  "POST /api/v1/updates/{id}/preview": { 200: ["update_id","package","blocked_by","overridable","reason","introduces","stays","fixes","fixes_complete","unchecked","age","divergences","unknown_artifacts","held","first_seen","provenance","origin_changes","third_party","verdict","vulnerability_policy","checked_at","source","snapshot"] },
  "POST /api/v1/updates/{id}/reject": { 200: ["update_id","state"] },
  "POST /api/v1/updates/{id}/reopen": { 200: ["update_id","state"] },
  "GET /api/v1/updates/{id}/approval": { 200: ["approval"] },
  "GET /api/v1/updates/{id}/decisions": { 200: ["items","next_cursor","total"] },
  "GET /api/v1/decisions/{id}": { 200: ["id","decided_at","outcome","actor","token_id","unchecked","statements","sha256","repeats","repeated_at","record","replays"] },
  "GET /api/v1/decisions/{id}/statement": { 200: ["payloadType","payload","signatures"] },
  "POST /api/v1/updates/{id}/countersign": { 200: ["update_id","token"] },
  "GET /api/v1/admin/age-exceptions": { 200: ["items","next_cursor","total"] },
  "POST /api/v1/admin/age-exceptions": { 201: ["id","ecosystem","name","version","reason","expires_at","created_by","created_at"] },
  "GET /api/v1/admin/age-exceptions/{id}": { 200: ["id","ecosystem","name","version","reason","expires_at","created_by","created_at"] },
  "DELETE /api/v1/admin/age-exceptions/{id}": { 204: null },
  "GET /api/v1/admin/vulnerability-policy": { 200: ["policy","set_by","changed_at","changed_by","open"] },
  "PUT /api/v1/admin/vulnerability-policy": { 200: ["policy","set_by","changed_at","changed_by","open"] },
  "GET /api/v1/admin/vex-statements": { 200: ["items","next_cursor","total"] },
  "POST /api/v1/admin/vex-statements": { 201: ["id","vulnerability","ecosystem","package","distribution","versions","scope","status","justification","text","ends_at","state","sha256","imported","created_by","created_at","ended_by","ended_at","envelope"] },
  "GET /api/v1/admin/vex-statements/{id}": { 200: ["id","vulnerability","ecosystem","package","distribution","versions","scope","status","justification","text","ends_at","state","sha256","imported","created_by","created_at","ended_by","ended_at","envelope"] },
  "DELETE /api/v1/admin/vex-statements/{id}": { 204: null },
  "GET /api/v1/admin/vex-document": { 200: [] },
  "POST /api/v1/admin/vex-document": { 200: ["imported","already","skipped"] },
  "GET /api/v1/admin/origins": { 200: ["items","next_cursor","total"] },
  "POST /api/v1/admin/origins": { 201: ["id","ecosystem","key","suites","rule","min_age_days","reason","ends_at","state","sha256","created_by","created_at","ended_by","ended_at","envelope"] },
  "GET /api/v1/admin/origins/{id}": { 200: ["id","ecosystem","key","suites","rule","min_age_days","reason","ends_at","state","sha256","created_by","created_at","ended_by","ended_at","envelope"] },
  "DELETE /api/v1/admin/origins/{id}": { 204: null },
  "GET /api/v1/policies": { 200: ["items","next_cursor","total"] },
  "POST /api/v1/policies": { 201: ["id","version","sha256","name","text","scope","terms","windows","ends_at","state","end_reason","author","created_at","ended_by","ended_at","last_run","envelope","follow_ups_stopped","versions"] },
  "GET /api/v1/policies/{id}": { 200: ["id","version","sha256","name","text","scope","terms","windows","ends_at","state","end_reason","author","created_at","ended_by","ended_at","last_run","envelope","follow_ups_stopped","versions"] },
  "PUT /api/v1/policies/{id}": { 200: ["id","version","sha256","name","text","scope","terms","windows","ends_at","state","end_reason","author","created_at","ended_by","ended_at","last_run","envelope","follow_ups_stopped","versions"] },
  "DELETE /api/v1/policies/{id}": { 204: null },
  "GET /api/v1/policies/{id}/preview": { 200: ["open_window","open_besides","next_windows","hosts","hosts_shown","approves","unplanned","leaves","reasons","updates"] },
  "GET /api/v1/policies/{id}/backtest": { 200: ["since","until","decisions","cut","unreadable","approves","leaves","reasons","updates"] },
  "POST /api/v1/policies/backtest": { 200: ["since","until","decisions","cut","unreadable","approves","leaves","reasons","updates"] },
  "POST /api/v1/policies/preview": { 200: ["open_window","open_besides","next_windows","hosts","hosts_shown","approves","unplanned","leaves","reasons","updates"] },
  "POST /api/v1/updates/rollback": { 200: ["requested","skipped"] },
  "GET /api/v1/rollouts": { 200: ["items","next_cursor","total"] },
  "GET /api/v1/rollouts/{id}": { 200: ["id","policy_id","policy_sha256","policy_name","lane","state","ring","ring_name","rings","started_at","ring_entered_at","ended_at","waits_for","packages","hosts","outcomes","lanes","halt","package_list","unrepresented","in_force"] },
  "GET /api/v1/rollouts/{id}/hosts": { 200: ["items","next_cursor","total"] },
  "POST /api/v1/rollouts/{id}/halt": { 200: ["id","policy_id","policy_sha256","policy_name","lane","state","ring","ring_name","rings","started_at","ring_entered_at","ended_at","waits_for","packages","hosts","outcomes","lanes","halt","package_list","unrepresented","in_force"] },
  "POST /api/v1/rollouts/{id}/cancel": { 200: ["id","policy_id","policy_sha256","policy_name","lane","state","ring","ring_name","rings","started_at","ring_entered_at","ended_at","waits_for","packages","hosts","outcomes","lanes","halt","package_list","unrepresented","in_force"] },
  "POST /api/v1/rollouts/{id}/resume": { 200: ["id","policy_id","policy_sha256","policy_name","lane","state","ring","ring_name","rings","started_at","ring_entered_at","ended_at","waits_for","packages","hosts","outcomes","lanes","halt","package_list","unrepresented","in_force"] },
  "POST /api/v1/rollouts/{id}/emergency": { 200: ["id","policy_id","policy_sha256","policy_name","lane","state","ring","ring_name","rings","started_at","ring_entered_at","ended_at","waits_for","packages","hosts","outcomes","lanes","halt","package_list","unrepresented","in_force"] },
  "POST /api/v1/rollouts/{id}/approve": { 200: ["id","policy_id","policy_sha256","policy_name","lane","state","ring","ring_name","rings","started_at","ring_entered_at","ended_at","waits_for","packages","hosts","outcomes","lanes","halt","package_list","unrepresented","in_force"] },
  "POST /api/v1/rollouts/{id}/rollback": { 200: ["requested","skipped","next"] },
  "GET /api/v1/blackouts": { 200: ["items","next_cursor","total"] },
  "POST /api/v1/blackouts": { 201: ["id","name","reason","scope","times","state","active","next","created_by","created_at","ended_by","ended_at","end_reason"] },
  "GET /api/v1/blackouts/{id}": { 200: ["id","name","reason","scope","times","state","active","next","created_by","created_at","ended_by","ended_at","end_reason"] },
  "POST /api/v1/blackouts/{id}/end": { 200: ["id","name","reason","scope","times","state","active","next","created_by","created_at","ended_by","ended_at","end_reason"] },
  "GET /api/v1/holds": { 200: ["items","next_cursor","total"] },
  "POST /api/v1/holds": { 201: ["id","ecosystems","packages","scope","reason","ends_at","state","created_by","created_at","ended_by","ended_at","held"] },
  "GET /api/v1/holds/{id}": { 200: ["id","ecosystems","packages","scope","reason","ends_at","state","created_by","created_at","ended_by","ended_at","held"] },
  "DELETE /api/v1/holds/{id}": { 204: null },
  "GET /api/v1/unfixed": { 200: ["items","next_cursor","total"] },
  "GET /api/v1/unfixed/coverage": { 200: ["at","hosts","unknown_hosts","left_out","exploited_list"] },
  "GET /api/v1/unfixed/hosts": { 200: ["items","next_cursor"] },
  "PUT /api/v1/unfixed/{id}/mitigation": { 200: ["id","ecosystem","distribution","package","installed_packages","vulnerability","names","cves","records","hosts","hosts_with_pending_fix","first_seen_at","severity","exploited","fixed_in","fix_known_at","fix_offered_at","statements","mitigation"] },
  "GET /api/v1/vulnerabilities": { 200: ["items","next_cursor","total"] },
  "GET /api/v1/vulnerabilities/coverage": { 200: ["at","hosts","unknown_hosts","exploited_list","not_judged"] },
  "GET /api/v1/vulnerabilities/{id}": { 200: ["id","names","summary","severity","exploited","epss","packages","hosts","fixable_hosts","waiting_hosts","unfixed_hosts","first_seen_at","gone_at","covers","exploited_list","exploited_since","fix_due_on","counted_at","unknown_hosts"] },
  "GET /api/v1/vulnerabilities/{id}/hosts": { 200: ["items","next_cursor"] },
  "GET /api/v1/agents/{agent_id}/sbom": { 200: [] },
  "GET /api/v1/sbom": { 200: [] },
  "GET /api/v1/agents/{agent_id}/vex": { 200: [] },
  "GET /api/v1/vex": { 200: [] },
  "GET /api/v1/agents/{agent_id}/withheld": { 200: ["as_of","pending","open","installed","held","holds","own_holds","blackout"] },
  "POST /api/v1/auth/login": { 200: ["token","expires_at","operator"] },
  "POST /api/v1/auth/logout": { 204: null },
  "GET /api/v1/auth/session": { 200: ["operator","expires_at","factors","unread_notices","second_factor_due_at","stepped_up_until","method","needs_factor"] },
  "POST /api/v1/auth/setup": { 201: ["id","username","role","groups"] },
  "GET /api/v1/auth/sessions": { 200: ["items","next_cursor","total"] },
  "DELETE /api/v1/auth/sessions": { 204: null },
  "DELETE /api/v1/auth/sessions/{id}": { 204: null },
  "POST /api/v1/auth/password": { 204: null },
  "GET /api/v1/admin/sessions": { 200: ["items","next_cursor","total"] },
  "DELETE /api/v1/admin/sessions": { 204: null },
  "DELETE /api/v1/admin/operators/{id}/sessions": { 204: null },
  "POST /api/v1/auth/totp": { 200: ["secret","otpauth_uri"] },
  "DELETE /api/v1/auth/totp": { 204: null },
  "POST /api/v1/auth/totp/confirm": { 200: ["recovery_codes"] },
  "POST /api/v1/auth/recovery-codes": { 201: ["recovery_codes"] },
  "POST /api/v1/auth/step-up": { 200: ["stepped_up_until"] },
  "GET /api/v1/auth/notices": { 200: ["items","next_cursor","total"] },
  "POST /api/v1/auth/notices/seen": { 204: null },
  "GET /api/v1/auth/passkeys": { 200: ["items","next_cursor","total"] },
  "POST /api/v1/auth/passkeys": { 201: ["passkey","recovery_codes"] },
  "POST /api/v1/auth/passkeys/options": { 200: ["challenge_id","options"] },
  "PATCH /api/v1/auth/passkeys/{id}": { 200: ["id","name","created_at","last_used_at","backed_up"] },
  "DELETE /api/v1/auth/passkeys/{id}": { 204: null },
  "POST /api/v1/auth/step-up/options": { 200: ["challenge_id","options"] },
  "POST /api/v1/auth/login/passkey/options": { 200: ["challenge_id","options"] },
  "POST /api/v1/auth/login/passkey": { 200: ["token","expires_at","operator"] },
  "GET /api/v1/admin/operators": { 200: ["items","next_cursor","total"] },
  "POST /api/v1/admin/operators": { 201: ["id","username","role","groups","disabled","second_factors","has_password","created_at"] },
  "GET /api/v1/admin/operators/{id}": { 200: ["id","username","role","groups","disabled","second_factors","has_password","created_at"] },
  "PATCH /api/v1/admin/operators/{id}": { 200: ["id","username","role","groups","disabled","second_factors","has_password","created_at"] },
  "DELETE /api/v1/admin/operators/{id}": { 204: null },
  "DELETE /api/v1/admin/operators/{id}/factors": { 204: null },
  "GET /api/v1/admin/api-tokens": { 200: ["items","next_cursor","total"] },
  "POST /api/v1/admin/api-tokens": { 201: ["id","label","role","groups","scopes","state","created_by","created_at","expires_at","last_used_at","token"] },
  "DELETE /api/v1/admin/api-tokens/{id}": { 204: null },
  "GET /api/v1/auth/providers": { 200: ["items"] },
  "POST /api/v1/auth/login/provider": { 200: ["url"] },
  "POST /api/v1/auth/step-up/provider": { 200: ["url"] },
  "GET /api/v1/auth/identities": { 200: ["items","has_password"] },
  "POST /api/v1/auth/identities": { 200: ["url"] },
  "DELETE /api/v1/auth/identities/{id}": { 204: null },
  "POST /api/v1/auth/logout/provider": { 200: ["url"] },
  "GET /api/v1/admin/identity-providers": { 200: ["items","next_cursor","total"] },
  "POST /api/v1/admin/identity-providers": { 201: ["id","issuer","name","client_id","client_auth","scopes","group_claim","username_claim","mapping","default_grant","creates_operators","factor_values","acr_values","enabled","operators","redirect_uri","logout_uri","created_by","created_at","changed_at"] },
  "GET /api/v1/admin/identity-providers/{id}": { 200: ["id","issuer","name","client_id","client_auth","scopes","group_claim","username_claim","mapping","default_grant","creates_operators","factor_values","acr_values","enabled","operators","redirect_uri","logout_uri","created_by","created_at","changed_at"] },
  "PATCH /api/v1/admin/identity-providers/{id}": { 200: ["id","issuer","name","client_id","client_auth","scopes","group_claim","username_claim","mapping","default_grant","creates_operators","factor_values","acr_values","enabled","operators","redirect_uri","logout_uri","created_by","created_at","changed_at"] },
  "DELETE /api/v1/admin/identity-providers/{id}": { 204: null },
  "POST /api/v1/admin/identity-providers/{id}/test": { 200: ["passed","checks","redirect_uri"] },
  "GET /api/v1/admin/operators/{id}/identities": { 200: ["items","has_password"] },
  "POST /api/v1/admin/operators/{id}/identities": { 201: ["id","provider_id","provider_name","issuer","subject","created_by","created_at","last_used_at"] },
  "DELETE /api/v1/admin/operators/{id}/identities/{identity_id}": { 204: null },
  "DELETE /api/v1/admin/operators/{id}/password": { 200: ["id","username","role","groups","disabled","second_factors","has_password","created_at"] },
  "GET /api/v1/admin/resync": { 200: ["epoch","restored","active_families","resync"] },
  "POST /api/v1/admin/resync": { 201: ["epoch","restored","active_families","resync"] },
  "DELETE /api/v1/admin/resync": { 204: null },
  "GET /api/v1/commands/{id}/progress": { 200: ["as_of","command","waits"] },
  "GET /api/v1/updates/{id}/progress": { 200: ["as_of","command","waits"] },
  "GET /api/v1/agents/{agent_id}/progress": { 200: ["as_of","command","waits"] },
  "GET /api/v1/agents/{agent_id}/faults": { 200: ["as_of","items"] },
  "GET /api/v1/overview": { 200: ["as_of","of","needs_me","changed","lying","totals","held","verdicts"] },
  "GET /api/v1/overview/history": { 200: ["items"] },
  "GET /api/v1/agents/{agent_id}/heartbeats": { 200: ["agent_id","as_of","slot_minutes","slots"] },
  "GET /api/v1/calendar": { 200: ["as_of","zone","days","entries","truncated","always","ran","ran_until"] },
  "GET /api/v1/notifications/channels": { 200: ["items"] },
  "POST /api/v1/notifications/channels": { 201: ["id","name","is_enabled","config","has_secret","receiver_key","state","failures_in_a_row","next_try_at","last_attempt","waiting","dead","rules","created_by","created_at","updated_at"] },
  "GET /api/v1/notifications/channels/{id}": { 200: ["id","name","is_enabled","config","has_secret","receiver_key","state","failures_in_a_row","next_try_at","last_attempt","waiting","dead","rules","created_by","created_at","updated_at"] },
  "PUT /api/v1/notifications/channels/{id}": { 200: ["id","name","is_enabled","config","has_secret","receiver_key","state","failures_in_a_row","next_try_at","last_attempt","waiting","dead","rules","created_by","created_at","updated_at"] },
  "DELETE /api/v1/notifications/channels/{id}": { 204: null },
  "POST /api/v1/notifications/channels/{id}/test": { 200: ["is_delivered","explanation","answer","is_permanent","delivery_id"] },
  "GET /api/v1/notifications/rules": { 200: ["items"] },
  "POST /api/v1/notifications/rules": { 201: ["id","name","is_enabled","channel_id","conditions","quiet_hours","mode","channel_name","next_digest_at","quiet_until","created_by","created_at","updated_at"] },
  "GET /api/v1/notifications/rules/{id}": { 200: ["id","name","is_enabled","channel_id","conditions","quiet_hours","mode","channel_name","next_digest_at","quiet_until","created_by","created_at","updated_at"] },
  "PUT /api/v1/notifications/rules/{id}": { 200: ["id","name","is_enabled","channel_id","conditions","quiet_hours","mode","channel_name","next_digest_at","quiet_until","created_by","created_at","updated_at"] },
  "DELETE /api/v1/notifications/rules/{id}": { 204: null },
  "POST /api/v1/notifications/rules/preview": { 200: ["since","matches","messages","is_complete","samples"] },
  "GET /api/v1/notifications/deliveries": { 200: ["items","next_cursor","total"] },
  "GET /api/v1/notifications/deliveries/{id}": { 200: ["id","kind","state","channel_id","channel_name","rule_id","rule_name","subject","severity","events","updates","attempts","created_at","next_attempt_at","ended_at","last_attempt","summary","sections","link","tries"] },
  "POST /api/v1/notifications/deliveries/resend": { 200: ["resent"] },
  "GET /api/v1/notifications/notices/{id}": { 200: ["id","at","severity","subject","summary","updates","left_out"] },
  "GET /api/v1/evidence": { 200: [] },
  "GET /api/health": { 200: ["status","version","uptime_seconds","checks"] },
  "GET /api/ready": { 200: ["status"] },
  "POST /logs/client-error": { 202: ["accepted"] },
  "GET /api/v1/views": { 200: ["items","next_cursor","total"] },
  "POST /api/v1/views": { 201: ["id","name","page","query","shared","own","created_by","created_at"] },
  "DELETE /api/v1/views/{id}": { 204: null },
  "GET /api/openapi.json": { 200: [] },
};

/** The codes that each operation refuses with. */
export const CODES: Readonly<Record<keyof Api, readonly string[]>> = {
  "GET /api/v1/events": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/events/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/admin/rate-limits": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "PUT /api/v1/admin/rate-limits": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/admin/rate-limits/reset": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/agents": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/agents/{agent_id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "DELETE /api/v1/agents/{agent_id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "PATCH /api/v1/agents/{agent_id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/agents/{agent_id}/revoke": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/agents/{agent_id}/dismiss-clone": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/admin/agents/{agent_id}/rebind-machine-id": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/groups": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/agents/group": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/tags": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/agents/tags": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/agents/{agent_id}/restarts": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/public-keys": ["internal_error","invalid_request","rate_limited"],
  "GET /api/v1/admin/signing-keys": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/admin/signing-keys": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/admin/signing-keys/{version}/use": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/admin/signing-keys/{version}/revoke": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/admin/registration-tokens": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/admin/registration-tokens": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/admin/registration-tokens/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "DELETE /api/v1/admin/registration-tokens/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/admin/agent-packages": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/artifacts/divergences": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/artifacts/divergences/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/artifacts/divergences/{id}/sightings": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/artifacts/divergences/decide": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/artifacts/divergences/{id}/decide": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/artifacts/divergences/{id}/undo": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/artifacts/hosts-set-aside": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/artifacts/hosts-set-aside/{agent_id}/trust": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/updates": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/updates/by-host": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/updates/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/packages": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/commands": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/commands/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/commands/{id}/cancel": ["access_token_expired","access_token_invalid","command_finished","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/commands/{id}/retry": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/agents/{agent_id}/scan": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/agents/{agent_id}/reboot": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/agents/{agent_id}/restart-services": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/agents/{agent_id}/polling": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/agents/{agent_id}/probes": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/agents/{agent_id}/probes/run": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/reboots": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/reboots": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/reboots/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "DELETE /api/v1/reboots/{id}": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/reboot-slots": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "PUT /api/v1/reboot-slots": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/reboot-slots/{id}/release": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/agents/{agent_id}/inventory": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/agents/{agent_id}/repair": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/agents/{agent_id}/inventory/changes": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/agents/{agent_id}/inventory/at": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/agents/{agent_id}/inventory/difference": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/bulk/{progress_id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/bulk/{progress_id}/result": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/updates/{id}/approve": ["access_token_expired","access_token_invalid","approval_blocked","conflict","forbidden","internal_error","invalid_request","not_found","override_reason_required","payload_too_large","plan_required","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type","verdict_pending"],
  "POST /api/v1/updates/approve": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/updates/preview": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/updates/{id}/preview": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type","verdict_pending"],
  "POST /api/v1/updates/{id}/reject": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/updates/{id}/reopen": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/updates/{id}/approval": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/updates/{id}/decisions": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/decisions/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/decisions/{id}/statement": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/updates/{id}/countersign": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/admin/age-exceptions": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/admin/age-exceptions": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/admin/age-exceptions/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "DELETE /api/v1/admin/age-exceptions/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/admin/vulnerability-policy": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "PUT /api/v1/admin/vulnerability-policy": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/admin/vex-statements": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/admin/vex-statements": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/admin/vex-statements/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "DELETE /api/v1/admin/vex-statements/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/admin/vex-document": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/admin/vex-document": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/admin/origins": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/admin/origins": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/admin/origins/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "DELETE /api/v1/admin/origins/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/policies": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/policies": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/policies/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "PUT /api/v1/policies/{id}": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "DELETE /api/v1/policies/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/policies/{id}/preview": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/policies/{id}/backtest": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/policies/backtest": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/policies/preview": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/updates/rollback": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/rollouts": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/rollouts/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/rollouts/{id}/hosts": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/rollouts/{id}/halt": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/rollouts/{id}/cancel": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/rollouts/{id}/resume": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/rollouts/{id}/emergency": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/rollouts/{id}/approve": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/rollouts/{id}/rollback": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/blackouts": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/blackouts": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/blackouts/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/blackouts/{id}/end": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/holds": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/holds": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/holds/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "DELETE /api/v1/holds/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/unfixed": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/unfixed/coverage": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/unfixed/hosts": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "PUT /api/v1/unfixed/{id}/mitigation": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/vulnerabilities": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/vulnerabilities/coverage": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/vulnerabilities/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/vulnerabilities/{id}/hosts": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/agents/{agent_id}/sbom": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/sbom": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/agents/{agent_id}/vex": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/vex": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/agents/{agent_id}/withheld": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/auth/login": ["forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/auth/logout": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/auth/session": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","unauthenticated","unavailable"],
  "POST /api/v1/auth/setup": ["internal_error","invalid_request","not_found","payload_too_large","rate_limited","unavailable","unsupported_media_type"],
  "GET /api/v1/auth/sessions": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","unauthenticated","unavailable"],
  "DELETE /api/v1/auth/sessions": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "DELETE /api/v1/auth/sessions/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/auth/password": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/admin/sessions": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "DELETE /api/v1/admin/sessions": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "DELETE /api/v1/admin/operators/{id}/sessions": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/auth/totp": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "DELETE /api/v1/auth/totp": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/auth/totp/confirm": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/auth/recovery-codes": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/auth/step-up": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/auth/notices": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","unauthenticated","unavailable"],
  "POST /api/v1/auth/notices/seen": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/auth/passkeys": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","unauthenticated","unavailable"],
  "POST /api/v1/auth/passkeys": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/auth/passkeys/options": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "PATCH /api/v1/auth/passkeys/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "DELETE /api/v1/auth/passkeys/{id}": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/auth/step-up/options": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/auth/login/passkey/options": ["conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","unavailable","unsupported_media_type"],
  "POST /api/v1/auth/login/passkey": ["conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/admin/operators": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/admin/operators": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/admin/operators/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "PATCH /api/v1/admin/operators/{id}": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "DELETE /api/v1/admin/operators/{id}": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "DELETE /api/v1/admin/operators/{id}/factors": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/admin/api-tokens": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/admin/api-tokens": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "DELETE /api/v1/admin/api-tokens/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/auth/providers": ["internal_error","invalid_request","rate_limited"],
  "POST /api/v1/auth/login/provider": ["forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","unavailable","unsupported_media_type"],
  "POST /api/v1/auth/step-up/provider": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/auth/identities": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","unauthenticated","unavailable"],
  "POST /api/v1/auth/identities": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "DELETE /api/v1/auth/identities/{id}": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/auth/logout/provider": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/admin/identity-providers": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/admin/identity-providers": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/admin/identity-providers/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "PATCH /api/v1/admin/identity-providers/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "DELETE /api/v1/admin/identity-providers/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/admin/identity-providers/{id}/test": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/admin/operators/{id}/identities": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/admin/operators/{id}/identities": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "DELETE /api/v1/admin/operators/{id}/identities/{identity_id}": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "DELETE /api/v1/admin/operators/{id}/password": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/admin/resync": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/admin/resync": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "DELETE /api/v1/admin/resync": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/commands/{id}/progress": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/updates/{id}/progress": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/agents/{agent_id}/progress": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/agents/{agent_id}/faults": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/overview": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/overview/history": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/agents/{agent_id}/heartbeats": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/calendar": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/notifications/channels": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/notifications/channels": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/notifications/channels/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "PUT /api/v1/notifications/channels/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "DELETE /api/v1/notifications/channels/{id}": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/notifications/channels/{id}/test": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/notifications/rules": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/notifications/rules": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/notifications/rules/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "PUT /api/v1/notifications/rules/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "DELETE /api/v1/notifications/rules/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "POST /api/v1/notifications/rules/preview": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/notifications/deliveries": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/notifications/deliveries/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/notifications/deliveries/resend": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/v1/notifications/notices/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/v1/evidence": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "GET /api/health": ["internal_error","invalid_request"],
  "GET /api/ready": ["internal_error","invalid_request","unavailable"],
  "POST /logs/client-error": ["internal_error","invalid_request","payload_too_large","rate_limited","unavailable","unsupported_media_type"],
  "GET /api/v1/views": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable"],
  "POST /api/v1/views": ["access_token_expired","access_token_invalid","conflict","forbidden","internal_error","invalid_request","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "DELETE /api/v1/views/{id}": ["access_token_expired","access_token_invalid","forbidden","internal_error","invalid_request","not_found","payload_too_large","rate_limited","second_factor_missing","step_up_required","unauthenticated","unavailable","unsupported_media_type"],
  "GET /api/openapi.json": ["internal_error","invalid_request","rate_limited"],
};
