"""
Answers as libdnf5's documentation says that the module of this name answers: names and values of its Python tutorials
and of its headers for Base, Goal, Transaction, PackageQuery, Package and AdvisoryQuery. It stands for no real host.
The world it tells of is the JSON file that RECORDED_WORLD names. What is asked that changes something is written to the
file that the world calls `calls`; a transaction that is run is run by rpm itself, as libdnf5 does by its library.
"""
import json
import os
import subprocess
import sys
from types import SimpleNamespace as Space

WORLD = json.load(open(os.environ["RECORDED_WORLD"]))
WORK = json.load(open(sys.argv[1]))["do"]
TRANSACTION = WORLD.get("transaction_of", {}).get(WORK, WORLD["transaction"])


def called(*words):
    if "calls" in WORLD:
        with open(WORLD["calls"], "a") as file:
            file.write(json.dumps([WORK, *words]) + "\n")


class Package:
    def __init__(self, facts):
        self.facts = facts

    def __lt__(self, other):
        return self.facts["version"] < other.facts["version"]

    def is_installed(self):
        return "repo" not in self.facts

    def get_name(self):
        return self.facts["name"]

    def get_epoch(self):
        return self.facts.get("epoch", "0")

    def get_version(self):
        return self.facts["version"]

    def get_release(self):
        return self.facts.get("release", "1")

    def get_arch(self):
        return "noarch"

    def get_nevra(self):  # the epoch is left out where it is 0
        epoch = "" if self.get_epoch() == "0" else self.get_epoch() + ":"
        return "%s-%s%s-%s.noarch" % (self.get_name(), epoch, self.get_version(), self.get_release())

    def get_source_name(self):
        return self.facts.get("source", self.get_name())

    def get_sourcerpm(self):
        return "%s-%s-1.src.rpm" % (self.get_source_name(), self.get_version())

    def get_repo_id(self):
        return self.facts.get("repo", "@System")

    def get_from_repo_id(self):
        return self.facts.get("from_repo", "")

    def get_download_size(self):
        return self.facts.get("size", 0)

    def get_checksum(self):
        return Space(get_checksum=lambda: self.facts.get("sha256", ""), get_type_str=lambda: "sha256")

    def get_remote_locations(self):
        return ["http://mirror.invalid/%s-%s-1.noarch.rpm" % (self.get_name(), self.get_version())]

    def is_available_locally(self):
        return False


class PackageQuery:
    def __init__(self, base, flags=0):
        shown = [facts for facts in WORLD["packages"] if flags or not facts.get("excluded")]
        self.found = [Package(facts) for facts in shown]

    def __iter__(self):
        return iter(self.found)

    def keep(self, test):
        self.found = [package for package in self.found if test(package)]

    def filter_name(self, names):
        self.keep(lambda package: package.get_name() in names)

    def filter_installed(self):
        self.keep(Package.is_installed)

    def filter_available(self):
        self.keep(lambda package: not package.is_installed())

    def filter_installonly(self):
        self.keep(lambda package: package.facts.get("installonly", False))

    def filter_upgrades(self):
        installed = {f["name"]: f["version"] for f in WORLD["packages"] if "repo" not in f}
        self.keep(lambda p: not p.is_installed() and p.get_version() > installed.get(p.get_name(), "~"))

    def filter_latest_evr(self):
        newest = {p.get_name(): p.get_version() for p in sorted(self.found)}
        self.keep(lambda p: newest[p.get_name()] == p.get_version())


class Base:
    def __init__(self):
        self.config = Space()

    def get_config(self):
        return self.config

    def load_config(self):
        assert self.config.installroot == WORLD["root"]

    def setup(self):
        assert self.config.plugins is False
        called("setup", {"localpkg_gpgcheck": self.config.localpkg_gpgcheck})

    def get_repo_sack(self):
        return Space(
            create_repos_from_system_configuration=lambda: called("repositories"), load_repos=self.load_repos)

    def load_repos(self, *kinds):
        called("load", *kinds)
        if "load_error" in WORLD:
            raise RuntimeError(WORLD["load_error"])

    def set_download_callbacks(self, callbacks):
        self.callbacks = callbacks


class Repo:
    Type_SYSTEM = 1

    def get_config(self):
        return Space(gpgkey=["file:///etc/key"])

    def get_id(self):
        return "fedora"

    def set_callbacks(self, callbacks):
        assert callbacks.repokey_import(None) is True


class RepoQuery(list):
    def __init__(self, base):
        super().__init__([Repo()] if WORLD.get("repositories", True) else [])

    def filter_enabled(self, wanted):
        assert wanted is True


class Goal:
    def __init__(self, base):
        self.allowed = False
        self.files = []
        self.removed = []

    def add_rpm_install(self, package):
        called("add package", package.get_nevra())

    def add_rpm_remove(self, package):
        called("remove", package.get_nevra())
        self.removed.append(package.get_nevra())

    def add_install(self, path):
        called("add", path)
        self.files.append(path)

    def set_allow_erasing(self, allowed):
        called("erasing", allowed)
        self.allowed = allowed

    def resolve(self):
        erases = any(action == "Remove" and Package(facts).get_nevra() not in self.removed for action, facts in TRANSACTION)
        failed = "problem" in WORLD or (erases and not self.allowed)
        items = [Space(get_action=lambda a=action: a, get_package=lambda f=facts: Package(f))
                 for action, facts in TRANSACTION]
        return Space(
            get_problems=lambda: 1 if failed else 0,
            get_resolve_logs_as_strings=lambda: [WORLD.get("problem", "would remove")],
            get_transaction_packages=lambda: items,
            set_description=lambda text: called("describe", text),
            get_transaction_problems=lambda: [WORLD["run_problem"]] if "run_problem" in WORLD else [],
            run=self.run)

    def run(self):
        called("run")
        if "run_problem" in WORLD:
            return 1
        done = subprocess.run(["rpm", "--root", WORLD["root"], "-U", *self.files], stdout=sys.stderr)
        return 0 if done.returncode == 0 else 1


class AdvisoryQuery(list):
    def __init__(self, base):
        fixed = [Space(get_nevra=lambda n=nevra: n) for nevra in WORLD.get("security", [])]
        super().__init__([Space(get_collections=lambda: [Space(get_packages=lambda: fixed)])])

    def filter_type(self, kind):
        assert kind == "security"


class PackageDownloader:
    def __init__(self, base):
        self.wanted = []

    def add(self, package, directory):
        self.wanted.append((package, directory))

    def download(self):
        for package, directory in self.wanted:
            name = "%s-%s-1.noarch.rpm" % (package.get_name(), package.get_version())
            with open(os.path.join(directory, name), "w") as file:
                file.write(package.facts["content"])


common = Space(ExcludeFlags_IGNORE_EXCLUDES=3, ExcludeFlags_IGNORE_REGULAR_EXCLUDES=2)
rpm = Space(PackageQuery=PackageQuery)
advisory = Space(AdvisoryQuery=AdvisoryQuery)
repo = Space(
    Repo=Repo, RepoQuery=RepoQuery, RepoCallbacks=object, RepoCallbacksUniquePtr=lambda given: given,
    DownloadCallbacks=object, DownloadCallbacksUniquePtr=lambda given: given, PackageDownloader=PackageDownloader)
base = Space(
    Base=Base, Goal=Goal, GoalProblem_NO_PROBLEM=0, Transaction=Space(TransactionRunResult_SUCCESS=0),
    transaction=Space(transaction_item_action_to_string=lambda action: action))
