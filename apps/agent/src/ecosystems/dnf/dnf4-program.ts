import { MEND_DNF } from './mend.ts';
import { PROGRAM_START } from './program-start.ts';

/**
 * The program that the host's Python runs with its `dnf` module (dnf 4) for agent and executor: read, resolve,
 * download, install. `dnf` itself has no machine-readable output. Planning and installing go through the same
 * `resolve`. The request is a file, the answer of everything but an installation one JSON document on stdout
 * (answers.ts); exit codes 3 and 4 are refusals of an installation.
 */
export const DNF4_PROGRAM = String.raw`${PROGRAM_START}
import logging

import dnf, dnf.callback, dnf.const, dnf.rpm, dnf.selector, dnf.subject, dnf.yum.rpmtrans
import hawkey, rpm


class Faults(logging.Handler):
    """dnf warns and goes on where a repository or a setting cannot be read: here that is not forgotten."""
    def emit(self, record):
        if len(faults) < 20:
            faults.append(record.getMessage()[:300])


class LocalKeys(object):
    """Metadata are signed: keys are taken that the administrator put on this host, none from the network."""
    def __init__(self, repo):
        self.local = all(url.startswith("file:") for url in repo.gpgkey)
    def _confirm(self, *_):
        return self.local


class Story(dnf.yum.rpmtrans.TransactionDisplay):
    def progress(self, package, action, ti_done, ti_total, ts_done, ts_total):
        if package and ti_done == ti_total:
            sys.stderr.write("%s/%s %s\n" % (ts_done, ts_total, package))
    def scriptout(self, msgs):
        sys.stderr.write(str(msgs or ""))
    def error(self, message):
        sys.stderr.write("%s\n" % message)


class Download(dnf.callback.NullDownloadProgress):
    """Every mirror may have another file than the metadata say; what is told of all of them is only that none had it."""
    def __init__(self):
        self.told = []
    def end(self, payload, status, message):
        if message and len(self.told) < 20:
            self.told.append("%s: %s" % (payload, message))


def inside(path):
    return os.path.join(ROOT, path.lstrip("/"))


def open_base():
    """The configuration of this root alone: no user's, no plugin, nothing of another host."""
    dnf.const.TMPDIR = request["cache"]  # where else locks of somebody who is not root would be left in /var/tmp
    conf = dnf.conf.Conf()
    main = inside("/etc/dnf/dnf.conf")
    if os.path.exists(main):
        conf.read(main, priority=dnf.conf.PRIO_MAINCONFIG)
    conf.installroot = ROOT
    conf.config_file_path = main
    conf.reposdir = [inside(path) for path in conf.reposdir]
    conf.varsdir = [inside(path) for path in conf.varsdir]
    conf.persistdir = inside(conf.persistdir)
    conf.cachedir = conf.system_cachedir = request["cache"]
    conf.logdir = os.getcwd()  # of this session alone: a log that is kept would grow
    conf.plugins = False
    conf.deltarpm = False
    conf.assumeyes = False
    conf.clean_requirements_on_remove = False
    conf.localpkg_gpgcheck = True
    conf.cacheonly = 0
    conf.tsflags = []
    conf.history_record = True
    conf.comment = "Tidegate"
    conf.substitutions.update_from_etc("/", varsdir=list(conf.varsdir))
    version = dnf.rpm.detect_releasever(ROOT)
    if version is not None:
        conf.releasever = version
    return dnf.Base(conf)


def load(base, with_repositories):
    if with_repositories:
        base.read_all_repos()
        enabled = list(base.repos.iter_enabled())
        for repo in enabled:
            repo._set_key_import(LocalKeys(repo))
            repo.load_metadata_other = False
        base.fill_sack(load_system_repo=True, load_available_repos=True)
        return [repo for repo in enabled if repo.enabled]
    base.fill_sack(load_system_repo=True, load_available_repos=False)
    return []


def apply_locks(base):
    """versionlock is a plugin, and no plugin is loaded: its list is read here. Returns what it hides."""
    directory = inside((list(base.conf.pluginconfpath) or ["/etc/dnf/plugins"])[0])
    listed = os.path.join(directory, "versionlock.list")
    try:
        for line in open(os.path.join(directory, "versionlock.conf")):
            name, _, value = [part.strip() for part in line.partition("=")]
            if name == "enabled" and value.lower() in ("0", "no", "false", "off"):
                return base.sack.query().filterm(empty=True)
            if name == "locklist":
                listed = inside(value)
    except FileNotFoundError:
        pass
    hidden = base.sack.query(flags=hawkey.IGNORE_EXCLUDES).filterm(empty=True)
    if not os.path.exists(listed):
        return hidden
    locked, names = hidden, set()
    for line in open(listed):
        pattern = line.partition("#")[0].strip()
        if not pattern:
            continue
        subject = dnf.subject.Subject(pattern.lstrip("!"))
        found = subject.get_best_query(base.sack, with_nevra=True, with_provides=False, with_filenames=False)
        if pattern.startswith("!"):
            hidden = hidden.union(found)
            continue
        locked = locked.union(found)
        names.update(package.name for package in found)
        if not found:
            names.update(form.name for form in subject.get_nevra_possibilities() if form.name)
    others = base.sack.query().filterm(name__glob=sorted(names)).difference(locked) if names else []
    hidden = (hidden.union(others) if names else hidden).filterm(reponame__neq=hawkey.SYSTEM_REPO_NAME)
    if hidden:
        base.sack.add_excludes(hidden)
    return hidden


def evr_of(package):
    return "%s:%s-%s" % (package.epoch, package.version, package.release)


def describe(package, everything):
    digest = package.chksum
    known = everything.filter(name=package.source_name, sourcerpm=package.sourcerpm) if package.sourcerpm else []
    return {
        "name": package.name, "epoch": str(package.epoch), "version": package.version,
        "release": package.release, "arch": package.arch, "source_rpm": package.sourcerpm or None,
        "source_epoch": next((str(main.epoch) for main in known), None),
        "repository": None if package._from_system else package.reponame,
        "size": package.downloadsize, "checksum": digest[1].hex() if digest and not package._from_system else None,
    }


def address(package):
    if package._from_cmdline:
        return None
    found = package.remote_location(schemes=("https", "http", "file", "ftp"))
    base = (list(package.repo.baseurl) or [""])[0].rstrip("/")
    return found or "%s/%s" % (base, package.location)


def resolve(base, removals):
    """The one resolver call of planning, simulating and installing. Removals only where a plan shows them."""
    base.resolve(allow_erasing=removals)
    everything = base.sack.query(flags=hawkey.IGNORE_EXCLUDES)
    return {
        "coming": [dict(describe(package, everything), url=address(package)) for package in base.transaction.install_set],
        "going": [dict(describe(package, everything), listed=listed(package, everything)) for package in base.transaction.remove_set],
    }


def listed(package, everything):
    """The files that the repositories have for an installed version, each different one once."""
    same = everything.available().filter(name=package.name, evr=evr_of(package), arch=package.arch)
    files = {(other.chksum[1].hex(), other.downloadsize) for other in same if other.chksum and not other._from_cmdline}
    return [{"checksum": checksum, "size": size} for checksum, size in sorted(files)]


def erase(base):
    """What goes without a successor is named, and what would stay beside its successor, as kernels do."""
    successors = {(one["name"], one["arch"]) for one in request["coming"]}
    installed = base.sack.query(flags=hawkey.IGNORE_EXCLUDES).installed()
    side_by_side = base._get_installonly_query(installed)
    for one in request["going"]:
        for package in installed.filter(name=one["name"], evr=one["evr"], arch=one["arch"]):
            if (package.name, package.arch) not in successors or package in side_by_side:
                base.package_remove(package)


def database():
    return rpm.expandMacro("%{_dbpath}") if ROOT == "/" else request["database"]


def newer(base, flags):
    return base.sack.query(flags=flags).upgrades().filter(arch__neq=["src", "nosrc"])


def best_of(query):
    found = {}
    for package in query.filter(latest_per_arch_by_priority=True):
        found.setdefault((package.name, package.arch), package)
    return found


def is_security(installed, package):
    """An advisory of anything newer than what is installed, up to what is offered."""
    for advisory in installed.get_advisories(hawkey.GT):
        if advisory.type != hawkey.ADVISORY_SECURITY:
            continue
        for fixed in advisory.packages:
            if fixed.name == package.name and fixed.arch == package.arch:
                if installed.base.sack.evr_cmp(fixed.evr, package.evr) <= 0:
                    return True
    return False


def find_installed(installed, package):
    same = [other for other in installed if other.name == package.name and other.arch == package.arch]
    near = same or [other for other in installed if other.name == package.name and "noarch" in (other.arch, package.arch)]
    return max(near, default=None)


def scan():
    base = open_base()
    repositories = load(base, True)
    if not repositories:
        faults.append("no repository is enabled")
    apply_locks(base)
    everything = base.sack.query(flags=hawkey.IGNORE_EXCLUDES)
    installed = list(everything.installed())
    by_name = {}
    for package in installed:
        by_name.setdefault(package.name, []).append(package)
    visible = best_of(newer(base, 0))
    hidden = best_of(newer(base, hawkey.IGNORE_REGULAR_EXCLUDES))
    updates = []
    for key, package in sorted({**hidden, **visible}.items()):
        before = find_installed(by_name.get(package.name, []), package)
        if before is not None:
            updates.append({
                "from": describe(before, everything), "to": describe(package, everything),
                "security": is_security(before, package), "held": key not in visible,
            })
    doubled = find_doubled(base)
    for package in doubled:
        faults.append("%s is installed in more than one version, as an interrupted transaction leaves it" % package.name)
    answer(ok=True, faults=faults, locked=is_locked(database()), updates=updates,
           doubled=[{"name": package.name, "arch": package.arch, "evr": evr_of(package)} for package in doubled],
           origins=[{"name": package.name, "evr": evr_of(package), "arch": package.arch,
                     "repository": package.from_repo or None} for package in installed])


def find_doubled(base):
    twice = base.sack.query(flags=hawkey.IGNORE_EXCLUDES).installed().duplicated()
    return twice.difference(base._get_installonly_query(twice))


def ages():
    """When each enabled repository was last asked: dnf sets the time of the file anew when nothing has changed."""
    base = open_base()
    base.read_all_repos()
    found = []
    for repo in base.repos.iter_enabled():
        folder = os.path.join(repo._repo.getCachedir(), "repodata")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        times = [int(os.stat(os.path.join(folder, name)).st_mtime) for name in names if "primary" in name]
        found.append({"id": repo.id, "fetched_at": max(times, default=None)})
    answer(ok=True, repositories=found)


def find_offered(base, target, everything, hidden):
    """The packages that bring one update; a refusal where nothing can."""
    wanted = dict(name=target["name"], evr=target["evr"], arch__neq=["src", "nosrc"])
    if target["arch"] is not None:
        wanted["arch"] = [target["arch"], "noarch"] if target["arch"] != "noarch" else list(base.sack.list_arches())
    label = "%s %s" % (target["name"], target["evr"])
    if not everything.installed().filter(name=target["name"]):
        raise Refused("%s is not installed" % target["name"])
    if everything.installed().filter(**wanted):
        raise Refused("%s is installed already" % label)
    found = find_visible(base, label, wanted, everything, hidden)
    if not found:
        raise Refused("no enabled repository offers %s" % label)
    return found


def find_visible(base, label, wanted, everything, hidden):
    """What the repositories have and this host lets in; a refusal where it does not."""
    found = base.sack.query().available().filterm(**wanted)
    offered = [] if found else everything.available().filter(**wanted)
    if offered and hidden.intersection(offered):
        raise Refused("%s is held back by versionlock on this host" % label)
    if offered:
        raise Refused("%s is excluded by the configuration of dnf on this host" % label)
    return found


def plan():
    """Each set of targets as a transaction of its own: what keeps one from a plan keeps no other."""
    base = open_base()
    load(base, True)
    hidden = apply_locks(base)
    if faults:
        return refuse("; ".join(faults))
    everything = base.sack.query(flags=hawkey.IGNORE_EXCLUDES)
    plans = []
    for targets in request["sets"]:
        try:
            plans.append(dict(plan_set(base, targets, everything, hidden), ok=True))
        except (Refused, dnf.exceptions.DepsolveError) as error:
            plans.append(dict(ok=False, reason=str(error)[:REASON_MAX_CHARS]))
    answer(ok=True, plans=plans)


def plan_set(base, targets, everything, hidden):
    found = [find_offered(base, target, everything, hidden) for target in targets]
    problem = None
    for removals in (False, True):
        base.reset(goal=True)
        for packages in found:
            selector = dnf.selector.Selector(base.sack)
            selector.set(pkg=list(packages))
            base.goal.install(select=selector)
        try:
            return resolve(base, removals)
        except dnf.exceptions.DepsolveError as error:
            problem = error
    raise problem


def undo():
    """The opposite of an installation: from kept files, and from the repositories where there is none. Nothing else may go."""
    base = open_base()
    load(base, bool(request["listed"]))
    packages = base.add_remote_rpms(request["files"], strict=True) if request["files"] else []
    hidden = apply_locks(base)
    if faults:
        return refuse("; ".join(faults))
    everything = base.sack.query(flags=hawkey.IGNORE_EXCLUDES)
    for package in packages:
        if not base.sack.query().filter(pkg=[package]):
            why = "held back by versionlock" if package in hidden else "excluded by the configuration of dnf"
            return refuse("%s %s is %s on this host" % (package.name, evr_of(package), why))
    lost, coming = [], list(packages)
    for one in request["listed"]:
        found = find_visible(base, "%s %s" % (one["name"], one["evr"]),
                             dict(name=one["name"], evr=one["evr"], arch=one["arch"]), everything, hidden)
        # Of two different files nobody knows which one was installed.
        if len({package.chksum[1] for package in found}) == 1:
            coming.append(found[0])
        else:
            lost.append({"name": one["name"], "evr": one["evr"]})
    if lost:
        return answer(ok=True, coming=[], going=[], lost=lost)
    for package in coming:
        base.package_install(package)
    erase(base)
    answer(ok=True, lost=[], **resolve(base, False))


def look_up():
    """What the repositories say of versions that are installed: also where they are excluded."""
    base = open_base()
    load(base, True)
    if faults:
        return refuse("; ".join(faults))
    everything = base.sack.query(flags=hawkey.IGNORE_EXCLUDES)
    found = [package for one in request["packages"]
             for package in everything.available().filter(name=one["name"], evr=one["evr"], arch=one["arch"])]
    answer(ok=True, found=[dict(describe(package, everything), url=address(package)) for package in found])


def fetch():
    """Only what has the checksum of the plan in the metadata is fetched; whatever was fetched is hashed again."""
    base = open_base()
    load(base, True)
    if faults:
        return refuse("; ".join(faults))
    base.conf.destdir = request["directory"]
    everything = base.sack.query(flags=hawkey.IGNORE_EXCLUDES).available()
    chosen = []
    for file in request["files"]:
        same = everything.filter(name=file["name"], evr=file["evr"], arch=file["arch"])
        match = [package for package in same if package.chksum and package.chksum[1].hex() == file["sha256"] and package.downloadsize == file["size"]]
        if not match:
            return refuse("artifact_mismatch: the repositories do not offer %s as it was approved" % file["name"])
        chosen.append((file, match[0]))
    remote = [package for _, package in chosen if not package._is_local_pkg()]
    if remote:
        download = Download()
        try:
            base.download_packages(remote, download)
        except dnf.exceptions.DownloadError as error:
            wrong = [line for line in download.told if "checksum" in line]
            return refuse("artifact_mismatch: %s" % wrong[0] if wrong else "; ".join([str(error)] + download.told))
    for file, package in chosen:
        target = os.path.join(request["directory"], file["filename"])
        if package._is_local_pkg():
            shutil.copyfile(package.localPkg(), target)
        elif package.localPkg() != target:
            shutil.move(package.localPkg(), target)
    answer(ok=True)


def staged():
    """A transaction of staged files alone: no repository is read, and rpm's own signature check is asked first."""
    base = open_base()
    load(base, False)
    packages = base.add_remote_rpms(request["files"], strict=True)
    apply_locks(base)
    for package in packages:
        result, message = base._sig_check_pkg(package)
        if result != 0:
            raise Unsigned("GPG check FAILED: %s" % (message or package))
    for package in packages:
        base.package_install(package)
    erase(base)
    return base, resolve(base, request["removals"])


class Refused(Exception):
    pass


class Unsigned(Exception):
    pass


def simulate():
    locked = find_lock(database())
    if locked:
        return refuse(locked)
    base, transaction = staged()
    doubled = sorted({package.name for package in find_doubled(base)})
    if doubled:
        return refuse("transaction_interrupted: installed in two versions: %s; ${MEND_DNF}" % ", ".join(doubled[:10]))
    answer(ok=True, **transaction)


def install():
    base, transaction = staged()
    demand_approved(transaction)
    base.do_transaction(display=[Story()])
    failed = [str(tsi) for tsi in base.transaction if tsi.state == dnf.transaction.libdnf.transaction.TransactionItemState_ERROR]
    if failed:
        sys.stderr.write("failed: %s\n" % ", ".join(failed))
        sys.exit(4)


def refuse(reason):
    answer(ok=False, reason=reason[:REASON_MAX_CHARS])


def main():
    logging.getLogger("dnf").addHandler(Faults(logging.WARNING))
    work = {"scan": scan, "ages": ages, "plan": plan, "undo": undo, "look_up": look_up, "fetch": fetch,
            "simulate": simulate, "install": install}[request["do"]]
    try:
        work()
    except Refused as error:
        refuse(str(error))
    except Unsigned as error:
        refuse("artifact_unsigned: %s" % error) if request["do"] == "simulate" else sys.exit(str(error))
    except (dnf.exceptions.Error, hawkey.Exception, rpm.error, OSError, RuntimeError) as error:
        if request["do"] == "install":
            sys.exit("%s: %s" % (type(error).__name__, error))
        refuse("; ".join(faults + ["%s: %s" % (type(error).__name__, error)]))


main()
`;
