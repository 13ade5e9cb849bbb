/** The common start of the programs for dnf 4 and dnf 5: request, answer, and the queries to rpm. */
export const PROGRAM_START = String.raw`
import fcntl, json, os, shutil, struct, sys, time

request = json.load(open(sys.argv[1]))
answer_fd = os.dup(1)
os.dup2(2, 1)  # what a library prints is no answer

ROOT = request["root"]
REASON_MAX_CHARS = 1500
faults = []


def answer(**members):
    with os.fdopen(answer_fd, "w") as out:
        json.dump(members, out)


def is_locked(database):
    """Whether rpm is in a transaction. It is asked for, not tried: the package manager is not disturbed."""
    try:
        with open(os.path.join(database, ".rpm.lock")) as lock:
            state = struct.pack("@hhqqi", fcntl.F_WRLCK, 0, 0, 0, 0)
            return struct.unpack("@hhqqi", fcntl.fcntl(lock, fcntl.F_GETLK, state))[0] != fcntl.F_UNLCK
    except FileNotFoundError:
        return False


def find_lock(database):
    """Waits for the end of another transaction. Returns the reason when it did not end."""
    for _ in range(request["lock_wait_seconds"]):
        if not is_locked(database):
            return None
        time.sleep(1)
    if is_locked(database):
        return "packages_locked: another program has changed packages for %s s" % request["lock_wait_seconds"]
    return None


def demand_approved(transaction):
    """Nothing is installed, upgraded or removed but what the request expects."""
    actual = sorted([way, p["name"], p["arch"], "%s:%s-%s" % (p["epoch"], p["version"], p["release"])]
                    for way in ("coming", "going") for p in transaction[way])
    if actual != sorted(request["expected"]):
        sys.stderr.write("the transaction is not the approved one\n")
        sys.exit(3)
`;
