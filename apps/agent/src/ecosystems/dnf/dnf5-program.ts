import { PROGRAM_START } from './program-start.ts';

/**
 * The same as dnf4-program.ts for hosts of dnf 5: the same requests and answers through `libdnf5` of
 * python3-libdnf5. Not run on a real dnf 5 host yet: calls and names follow libdnf5's documentation (Python
 * tutorials and headers), and so do the answers in the tests, from scan to install; only rpm is real there. A
 * host that answers differently ends in a refusal: answers are parsed strictly, the simulated transaction must
 * equal the approved one, and rpm is asked afterwards. versionlock is part of libdnf5 itself, so no list is read
 * here.
 */
export const DNF5_PROGRAM = `${PROGRAM_START}
import subprocess

import libdnf5

INBOUND = ("Install", "Upgrade", "Downgrade", "Reinstall")
OUTBOUND = ("Remove", "Replaced")
IGNORE_ALL = libdnf5.common.ExcludeFlags_IGNORE_EXCLUDES
IGNORE_REGULAR = libdnf5.common.ExcludeFlags_IGNORE_REGULAR_EXCLUDES


class Refused(Exception):
    pass


class LocalKeys(libdnf5.repo.RepoCallbacks):
    """Metadata are signed: keys are taken that the administrator put on this host, none from the network."""
    def __init__(self, repo):
        super().__init__()
        self.local = all(url.startswith("file:") for url in repo.get_config().gpgkey)
    def repokey_import(self, key):
        return self.local


class Download(libdnf5.repo.DownloadCallbacks):
    told = []
    def mirror_failure(self, user_data, message, url="", metadata=None):
        if len(Download.told) < 20:
            Download.told.append(str(message))
        return 0


def open_base():
    base = libdnf5.base.Base()
    config = base.get_config()
    config.installroot = ROOT  # before the configuration is read: it is that of this root
    base.load_config()
    config.cachedir = config.system_cachedir = request["cache"]
    config.logdir = os.getcwd()  # of this session alone: a log that is kept would grow
    config.plugins = False
    config.assumeyes = False
    config.clean_requirements_on_remove = False
    config.localpkg_gpgcheck = True
    base.setup()
    return base


def load(base, with_repositories):
    sack = base.get_repo_sack()
    if not with_repositories:
        sack.load_repos(libdnf5.repo.Repo.Type_SYSTEM)
        return []
    sack.create_repos_from_system_configuration()
    enabled = enabled_of(base)
    for repo in enabled:
        repo.get_config().skip_if_unavailable = False  # what is left out would look like a host without updates
        repo.set_callbacks(libdnf5.repo.RepoCallbacksUniquePtr(LocalKeys(repo)))
    sack.load_repos()
    return enabled


def enabled_of(base):
    repos = libdnf5.repo.RepoQuery(base)
    repos.filter_enabled(True)
    return list(repos)


def packages(base, flags=0, **filters):
    query = libdnf5.rpm.PackageQuery(base, flags) if flags else libdnf5.rpm.PackageQuery(base)
    for name, values in filters.items():
        getattr(query, "filter_" + name)(*([values] if values is not True else []))
    return query


def evr_of(package):
    return "%s:%s-%s" % (package.get_epoch() or "0", package.get_version(), package.get_release())


def describe(base, package):
    source = package.get_sourcerpm() or None
    main = [other for other in packages(base, IGNORE_ALL, name=[package.get_source_name()])
            if other.get_sourcerpm() == source] if source else []
    installed = package.is_installed()
    return {
        "name": package.get_name(), "epoch": package.get_epoch() or "0", "version": package.get_version(),
        "release": package.get_release(), "arch": package.get_arch(), "source_rpm": source,
        "source_epoch": (main[0].get_epoch() or "0") if main else None,
        "repository": None if installed else package.get_repo_id(),
        "size": package.get_download_size(),
        "checksum": None if installed else package.get_checksum().get_checksum().lower() or None,
    }


def address(package):
    if package.get_repo_id() == "@commandline":
        return None
    return next(iter(package.get_remote_locations()), None)


def resolve(base, goal, removals):
    """The one resolver call of planning, simulating and installing. Removals only where a plan shows them."""
    goal.set_allow_erasing(removals)
    transaction = goal.resolve()
    if transaction.get_problems() != libdnf5.base.GoalProblem_NO_PROBLEM:
        raise Refused("; ".join(transaction.get_resolve_logs_as_strings()))
    coming, going = [], []
    for item in transaction.get_transaction_packages():
        action = libdnf5.base.transaction.transaction_item_action_to_string(item.get_action())
        package = item.get_package()
        if action in INBOUND:
            coming.append(dict(describe(base, package), url=address(package)))
        elif action in OUTBOUND:
            going.append(dict(describe(base, package), listed=listed(base, package)))
    return transaction, {"coming": coming, "going": going}


def listed(base, package):
    """The files that the repositories have for an installed version, each different one once."""
    wanted = {"name": package.get_name(), "evr": evr_of(package), "arch": package.get_arch()}
    files = {(other.get_checksum().get_checksum().lower(), other.get_download_size())
             for other in exactly(base, wanted, IGNORE_ALL, available=True) if other.get_repo_id() != "@commandline"}
    return [{"checksum": checksum, "size": size} for checksum, size in sorted(files) if checksum]


def exactly(base, wanted, flags=0, **filters):
    return [package for package in packages(base, flags, name=[wanted["name"]], **filters)
            if evr_of(package) == wanted["evr"] and package.get_arch() == wanted["arch"]]


def erase(base, goal):
    """What goes without a successor is named, and what would stay beside its successor, as kernels do."""
    successors = {(one["name"], one["arch"]) for one in request["coming"]}
    side_by_side = {package.get_nevra() for package in packages(base, IGNORE_ALL, installonly=True)}
    for one in request["going"]:
        for package in exactly(base, one, IGNORE_ALL, installed=True):
            if (one["name"], one["arch"]) not in successors or package.get_nevra() in side_by_side:
                goal.add_rpm_remove(package)


def best_of(base, flags):
    query = packages(base, flags, upgrades=True)
    query.filter_latest_evr()
    return {(package.get_name(), package.get_arch()): package for package in query}


def security_nevras(base):
    advisories = libdnf5.advisory.AdvisoryQuery(base)
    advisories.filter_type("security")
    return {fixed.get_nevra() for advisory in advisories
            for collection in advisory.get_collections() for fixed in collection.get_packages()}


def scan():
    base = open_base()
    if not load(base, True):
        faults.append("no repository is enabled")
    installed = list(packages(base, IGNORE_ALL, installed=True))
    visible, hidden, security = best_of(base, 0), best_of(base, IGNORE_REGULAR), security_nevras(base)
    updates = []
    for key, package in sorted({**hidden, **visible}.items(), key=lambda item: item[0]):
        same = [other for other in installed if other.get_name() == key[0]
                and (other.get_arch() == key[1] or "noarch" in (other.get_arch(), key[1]))]
        if same:
            updates.append({"from": describe(base, max(same)), "to": describe(base, package),
                            "security": package.get_nevra() in security, "held": key not in visible})
    answer(ok=True, faults=faults, locked=is_locked(request["database"]), updates=updates,
           origins=[{"name": package.get_name(), "evr": evr_of(package), "arch": package.get_arch(),
                     "repository": package.get_from_repo_id() or None} for package in installed])


def ages():
    base = open_base()
    base.get_repo_sack().create_repos_from_system_configuration()
    found = []
    for repo in enabled_of(base):
        folder = os.path.join(repo.get_cachedir(), "repodata")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        times = [int(os.stat(os.path.join(folder, name)).st_mtime) for name in names if "primary" in name]
        found.append({"id": repo.get_id(), "fetched_at": max(times, default=None)})
    answer(ok=True, repositories=found)


def matching(base, target, flags=0, **filters):
    return [package for package in packages(base, flags, name=[target["name"]], **filters)
            if evr_of(package) == target["evr"] and package.get_arch() not in ("src", "nosrc")
            and (target["arch"] in (None, "noarch", package.get_arch()) or package.get_arch() == "noarch")]


def find_offered(base, target):
    """The package that brings one update; a refusal where nothing can."""
    label = "%s %s" % (target["name"], target["evr"])
    if not list(packages(base, IGNORE_ALL, installed=True, name=[target["name"]])):
        raise Refused("%s is not installed" % target["name"])
    if matching(base, target, IGNORE_ALL, installed=True):
        raise Refused("%s is installed already" % label)
    found = matching(base, target, available=True)
    if not found:
        offered = matching(base, target, IGNORE_ALL, available=True)
        raise Refused("%s is excluded or locked by the configuration of dnf on this host" % label if offered
                      else "no enabled repository offers %s" % label)
    return found[0]


def plan():
    """Each set of targets as a transaction of its own: what keeps one from a plan keeps no other."""
    base = open_base()
    load(base, True)
    plans = []
    for targets in request["sets"]:
        try:
            plans.append(dict(plan_set(base, targets), ok=True))
        except Refused as error:
            plans.append(dict(ok=False, reason=str(error)[:REASON_MAX_CHARS]))
    answer(ok=True, plans=plans)


def plan_set(base, targets):
    found = [find_offered(base, target) for target in targets]
    problem = None
    for removals in (False, True):
        goal = libdnf5.base.Goal(base)
        for package in found:
            goal.add_rpm_install(package)
        try:
            return resolve(base, goal, removals)[1]
        except Refused as error:
            problem = error
    raise problem


def undo():
    """The opposite of an installation: from kept files, and from the repositories where there is none. Nothing else may go."""
    base = open_base()
    load(base, bool(request["listed"]))
    lost, goal = [], libdnf5.base.Goal(base)
    for path in request["files"]:
        goal.add_install(path)
    for one in request["listed"]:
        found = exactly(base, one, available=True)
        if not found and exactly(base, one, IGNORE_ALL, available=True):
            raise Refused("%s %s is excluded or locked by the configuration of dnf on this host" % (one["name"], one["evr"]))
        # Of two different files nobody knows which one was installed.
        if len({package.get_checksum().get_checksum() for package in found}) == 1:
            goal.add_rpm_install(found[0])
        else:
            lost.append({"name": one["name"], "evr": one["evr"]})
    if lost:
        return answer(ok=True, coming=[], going=[], lost=lost)
    erase(base, goal)
    answer(ok=True, lost=[], **resolve(base, goal, False)[1])


def look_up():
    """What the repositories say of versions that are installed: also where they are excluded."""
    base = open_base()
    load(base, True)
    found = [package for one in request["packages"] for package in exactly(base, one, IGNORE_ALL, available=True)]
    answer(ok=True, found=[dict(describe(base, package), url=address(package)) for package in found])


def fetch():
    base = open_base()
    load(base, True)
    base.set_download_callbacks(libdnf5.repo.DownloadCallbacksUniquePtr(Download()))
    chosen = []
    for file in request["files"]:
        match = [package for package in matching(base, file, IGNORE_ALL, available=True)
                 if package.get_arch() == file["arch"] and package.get_download_size() == file["size"]
                 and package.get_checksum().get_checksum().lower() == file["sha256"]]
        if not match:
            raise Refused("artifact_mismatch: the repositories do not offer %s as it was approved" % file["name"])
        chosen.append((file, match[0]))
    downloader = libdnf5.repo.PackageDownloader(base)
    for file, package in chosen:
        if not package.is_available_locally():
            downloader.add(package, request["directory"])
    try:
        downloader.download()
    except RuntimeError as error:
        wrong = [line for line in Download.told if "checksum" in line]
        raise Refused("artifact_mismatch: %s" % wrong[0] if wrong else "; ".join([str(error)] + Download.told))
    for file, package in chosen:
        target = os.path.join(request["directory"], file["filename"])
        if package.is_available_locally() and not os.path.exists(target):
            shutil.copyfile(package.get_package_path(), target)
    answer(ok=True)


def check_signature(path):
    """By rpm itself: every signature must hold, and there must be one."""
    options = ["--define=_pkgverify_level signature", "--define=_pkgverify_flags 0x0"]
    root = [] if ROOT == "/" else ["--root", ROOT]
    with open(path, "rb") as file:
        checked = subprocess.run(["rpmkeys", "--checksig", *root, *options, "-"], stdin=file,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if checked.returncode != 0:
        words = checked.stdout.decode("utf-8", "replace").strip()
        raise Refused("artifact_unsigned: GPG check FAILED: %s: %s" % (os.path.basename(path), words))


def staged():
    base = open_base()
    load(base, False)
    goal = libdnf5.base.Goal(base)
    for path in request["files"]:
        check_signature(path)
        goal.add_install(path)
    erase(base, goal)
    return resolve(base, goal, request["removals"])


def simulate():
    locked = find_lock(request["database"])
    if locked:
        raise Refused(locked)
    answer(ok=True, **staged()[1])


def install():
    transaction, described = staged()
    demand_approved(described)
    transaction.set_description("Tidegate")
    result = transaction.run()
    if result != libdnf5.base.Transaction.TransactionRunResult_SUCCESS:
        sys.exit("; ".join(transaction.get_transaction_problems()) or "the transaction failed")


def main():
    work = {"scan": scan, "ages": ages, "plan": plan, "undo": undo, "look_up": look_up, "fetch": fetch,
            "simulate": simulate, "install": install}
    try:
        work[request["do"]]()
    except (Refused, OSError, RuntimeError) as error:
        text = str(error) if isinstance(error, Refused) else "%s: %s" % (type(error).__name__, error)
        if request["do"] == "install":
            sys.exit(text)
        answer(ok=False, reason=text[:REASON_MAX_CHARS])


main()
`;
