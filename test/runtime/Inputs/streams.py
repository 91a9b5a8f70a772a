"""streams.py CASE COMMAND...: how a program deals with its files, streams and signals when these are not as usual."""
import fcntl
import json
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from support.default_signals import restore_signals  # noqa: E402

case, command = sys.argv[1], sys.argv[2:]
restore_signals()
MIB = 1 << 20


def run(*flags, status=0, **how):
    how.setdefault("stdout", subprocess.PIPE)
    result = subprocess.run([*command, *flags], stderr=subprocess.PIPE, text=True, timeout=60, **how)
    assert result.returncode == status, f"{flags}: status {result.returncode}, not {status}: {result.stderr}"
    return result


def expect(text, *flags, status=1, **how):
    result = run(*flags, status=status, **how)
    assert text in result.stderr, f"{flags}: no '{text}' in: {result.stderr}"
    return result


def skip(why):
    print(f"skipped: {why}")


def fifo(directory):
    for flag in ("--export", "--trace", "--dump-gradients"):
        path = os.path.join(directory, "fifo" + flag)
        os.mkfifo(path)
        got = []
        reader = threading.Thread(target=lambda: got.append(open(path, "rb").read()))
        reader.start()
        run(flag, path)
        reader.join(10)
        assert got and len(got[0]) > 10 and stat.S_ISFIFO(os.stat(path).st_mode), (flag, got)


def device(directory):
    """As root a node of /dev must not be replaced by a file."""
    if os.geteuid() != 0:
        return skip("makes a device: needs root")
    path = os.path.join(directory, "null")
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        open(path, "wb").close()
    except OSError as error:
        return skip(f"cannot make a device here: {error}")
    for flag in ("--export", "--dump-gradients", "--trace", "--log"):
        run(flag, path)
        assert stat.S_ISCHR(os.stat(path).st_mode), f"{flag} replaced a device"


def planted(directory):
    if os.geteuid() != 0:
        return skip("makes a link of another user: needs root")
    os.chmod(directory, 0o1777)
    victim = os.path.join(directory, "victim")
    for flag in ("--export", "--dump-gradients", "--trace", "--log", "--publish-phases"):
        for exists in (True, False):
            link = os.path.join(directory, "link")
            if exists:
                with open(victim, "w") as file:
                    file.write("mine")
            os.symlink(victim, link)
            os.lchown(link, 1234, 1234)
            expect(f"{flag} {link}: is a link that another user made (uid 1234), which is not followed", flag, link)
            assert open(victim).read() == "mine" if exists else not os.path.exists(victim), flag
            os.unlink(link)
            if exists:
                os.unlink(victim)


def unwritable(directory):
    expect("--export no/p: there is no folder no", "--export", "no/p")
    expect("--trace no/p: there is no folder no", "--trace", "no/p")
    expect("--publish-phases no/p: there is no folder no", "--publish-phases", "no/p")
    if os.geteuid() != 0:
        return skip("becomes another user: needs root")
    # One that may read what is there and write nothing.
    os.chmod(directory, 0o755)
    for folder in iter_parents(directory):
        if not os.stat(folder).st_mode & 1:
            return skip(f"{folder} is closed to others")
    other = dict(user=1234, group=1234, extra_groups=[])
    if not all(os.stat(folder).st_mode & 1 for folder in iter_parents(os.path.realpath(command[0]))):
        return skip("the program is closed to others")
    path = os.path.join(directory, "p")
    got = expect(f"--export {path}: cannot write to {directory}: Permission denied", "--export", path, **other)
    assert "step" not in got.stdout, got.stdout
    # One that is protected is not replaced, though its folder would let it.
    own = os.path.join(directory, "own")
    os.mkdir(own)
    with open(own + "/p", "w") as file:
        file.write("mine")
    for name in (own, own + "/p"):
        os.chown(name, 1234, 1234)
    os.chmod(own + "/p", 0o444)
    expect(f"--export {own}/p: cannot write: Permission denied", "--export", own + "/p", **other)
    # In a folder like /tmp a file of somebody else cannot be replaced.
    os.chmod(directory, 0o1777)
    open(path, "w").close()
    got = expect(f"--export {path}: belongs to another user (uid 0)", "--export", path, **other)
    assert "step" not in got.stdout, got.stdout


def iter_parents(path):
    while path != "/":
        path = os.path.dirname(path)
        yield path


def full(directory):
    with open("/dev/full", "w") as stream:
        got = expect("error: cannot write to standard output: No space left on device", stdout=stream)
        assert got.stderr.startswith("warning: "), got.stderr
        expect("error: cannot write to standard output: No space left on device", "--describe", stdout=stream)
        expect("error: cannot write to standard output: No space left on device", "--help", stdout=stream)
    for flag in ("--export", "--dump-gradients", "--trace", "--log"):
        expect("/dev/full: cannot write: No space left on device", flag, "/dev/full")
    disk = os.path.join(directory, "disk")
    os.mkdir(disk)
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], capture_output=True).returncode != 0:
        return skip("mounts a small disk: needs root")
    try:
        run("--export", disk + "/p")
        before = open(disk + "/p", "rb").read()
        with open(disk + "/filling", "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass
        expect(f"{disk}/p: cannot write: No space left on device", "--export", disk + "/p")
        assert open(disk + "/p", "rb").read() == before, "the old file is gone"
        assert sorted(os.listdir(disk)) == ["filling", "p"], os.listdir(disk)
        got = expect(f"--publish-phases {disk}/phases: cannot map", "--publish-phases", disk + "/phases")
        assert "No space left on device" in got.stderr, got.stderr
    finally:
        subprocess.run(["umount", disk], check=True)


def limited(directory):
    """A limit of file sizes is like a full disk: the file and the limit are named, and nothing is left."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

    why = "File too large: the limit of file sizes (ulimit -f) is 64 bytes"
    folder = os.path.join(directory, "ck")
    for flag in ("--export", "--dump-gradients", "--trace", "--log"):
        path = os.path.join(directory, "p" + flag)
        expect(f"{path}: cannot write: {why}", flag, path, preexec_fn=limit)
        assert flag == "--log" or not os.path.exists(path), flag
    expect(f"of it into memory: {why}", "--publish-phases", os.path.join(directory, "phases"), preexec_fn=limit)
    got = expect("ended without a checkpoint", "--checkpoint", folder, preexec_fn=limit)
    assert f"cannot write: {why}; training continues" in got.stdout, got.stdout
    assert os.listdir(folder) == [".lock"], os.listdir(folder)
    with open(os.path.join(directory, "out"), "w") as out:
        expect(f"cannot write to standard output: {why}", stdout=out, preexec_fn=limit)
    assert sorted(os.listdir(directory)) == ["ck", "out", "p--log", "phases"], os.listdir(directory)


def names(directory):
    """Any bytes but / and 0 are a name; JSON has escapes for those that are not UTF-8."""
    odd = os.path.join(os.fsencode(directory), b"l\xe4tin")
    os.makedirs(odd)
    for name in (b"a", b"\xff\xc3"):
        shutil.copy("corpus/a", os.path.join(odd, name))
    base = [*(os.fsencode(word) for word in command), b"--data", odd, b"--checkpoint", odd + b".ck", b"--log", odd + b".log"]
    for more in ([b"--steps", b"2", b"--trace", odd + b".trace", b"--export", odd + b".p"], [b"--steps", b"4", b"--resume"]):
        result = subprocess.run([*base, *more], capture_output=True, timeout=60)
        assert result.returncode == 0, result.stderr
    shown = directory + "/l\\xE4tin"
    with open(odd + b".log", encoding="utf-8") as log:
        saved = [event["path"] for event in map(json.loads, log) if event["event"] == "checkpoint"]
    assert saved == [f"{shown}.ck/step-0000000{step}" for step in (2, 4)], saved
    with open(odd + b".ck/step-00000004/manifest.json", encoding="utf-8") as manifest:
        files = [file["path"] for file in json.load(manifest)["samples"]["files"]]
    assert files == [shown + "/a", shown + "/\\xFF\\xC3"], files
    with open(odd + b".trace", encoding="utf-8") as trace:
        json.load(trace)


def logs(directory):
    """A log that has text is that of another run, unless the run continues it."""
    log, folder = os.path.join(directory, "log"), os.path.join(directory, "ck")
    saving = ["--log", log, "--checkpoint", folder]
    open(log, "w").close()  # as mktemp makes one
    run(*saving, "--steps", "2")
    first = open(log).read()
    steps = [event["step"] for event in map(json.loads, first.splitlines()) if event["event"] == "step"]
    assert steps == [1, 2], first
    refusal = f"--log {log}: there is a log of an earlier run: give another name, remove it, or continue that run with --resume"
    for path in (log, os.path.join(directory, "link")):
        if path != log:
            os.symlink(log, path)
        got = expect(refusal.replace(log, path), "--log", path, "--steps", "2")
        assert got.stdout == "" and open(log).read() == first, got.stdout
    # One run at a time, also of those that continue.
    with open(log) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        expect(f"--log {log}: another run writes to it: give another name", *saving, "--resume", "--steps", "3")
        assert open(log).read() == first
    # A line that was not finished is.
    with open(log, "a") as file:
        file.write('{"event":"st')
    run(*saving, "--resume", "--steps", "3")
    whole = open(log).read()
    assert whole.startswith(first), whole
    steps = [event["step"] for event in map(json.loads, whole[len(first):].splitlines()) if event["event"] == "step"]
    assert steps == [3], steps
    for _ in range(2):
        run("--log", "/dev/null", "--steps", "2")


def closed(directory):
    log, checkpoint = os.path.join(directory, "log"), os.path.join(directory, "ck")
    for which in ((1,), (0, 1, 2), (2,), (0,)):
        shutil.rmtree(checkpoint, ignore_errors=True)
        redirections = " ".join(f"{number}{'<' if number == 0 else '>'}&-" for number in which)
        script = " ".join([*command, "--log", log, "--checkpoint", checkpoint, redirections])
        result = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60)
        assert result.returncode == 0, (which, result.stderr)
        for line in open(log):
            json.loads(line)
        os.remove(log)
        assert os.path.getsize(checkpoint + "/.lock") == 32, open(checkpoint + "/.lock").read()
    # A lock that was written to by something else is made anew.
    with open(checkpoint + "/.lock", "w") as lock:
        lock.write("step 1/2 | and more than a mark is long: " + "x" * 100)
    run("--checkpoint", checkpoint, "--resume")


def signals(directory):
    def start(*flags, ignored=(), **how):
        def ignore():
            for number in ignored:
                signal.signal(number, signal.SIG_IGN)
        return subprocess.Popen([*command, *flags], stderr=subprocess.PIPE, text=True, preexec_fn=ignore, **how)

    for name in ("SIGHUP", "SIGPIPE"):
        folder = os.path.join(directory, name)
        process = start("--steps", "100000000", "--checkpoint", folder, "--log", folder + ".log", stdout=subprocess.PIPE)
        number = getattr(signal, name)
        for _ in range(20):
            process.stdout.readline()
        if name == "SIGPIPE":
            process.stdout.close()
        else:  # the system's and the shell's
            process.send_signal(number)
            process.send_signal(number)
            threading.Thread(target=process.stdout.read).start()
        status = process.wait(30)
        assert status == 128 + number, (name, status, process.stderr.read())
        events = [json.loads(line) for line in open(folder + ".log")]
        stops = [event for event in events if event["event"] == "stop"]
        assert [stop["signal"] for stop in stops] == [name], events[-3:]
        assert os.path.exists(f"{folder}/step-{stops[0]['step']:08d}/manifest.json"), os.listdir(folder)
    # nohup's.
    process = start("--steps", "5000", ignored=[signal.SIGHUP], stdout=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.readline()
    process.stdout.readline()
    process.send_signal(signal.SIGHUP)
    text = process.communicate(timeout=120)[0]
    assert process.returncode == 0 and "done: 5000 steps" in text, (process.returncode, text[-300:])


def renamed(directory):
    """A checkpoint is of the step that its manifest says, whatever its name."""
    folder = os.path.join(directory, "ck")
    run("--steps", "3", "--checkpoint", folder, "--checkpoint-every", "1")
    os.rename(folder + "/step-00000002", folder + "/step-99999999")
    expect(f"{folder}/step-99999999: its manifest says step 2: the folder was renamed, and its name was step-00000002; "
           f"to continue from step 3, the one before, move {folder}/step-99999999 away",
           "--steps", "4", "--checkpoint", folder, "--resume")
    os.rename(folder + "/step-99999999", folder + "/step-00000002")
    assert f"resumed from {folder}/step-00000003" in run("--steps", "4", "--checkpoint", folder, "--resume").stdout


def unreadable(directory):
    """Nobody knows whether what cannot be looked into is the newest checkpoint: no older one is taken for it."""
    folder = os.path.join(directory, "ck")
    run("--steps", "3", "--checkpoint", folder, "--checkpoint-every", "1")
    newest = folder + "/step-00000009"
    os.symlink(newest, newest)  # root cannot look into a link to itself either
    expect(f"--resume: {newest}: cannot look into it: Too many levels of symbolic links; to continue from step 3, the one before, "
           f"move {newest} away", "--steps", "4", "--checkpoint", folder, "--resume")
    os.unlink(newest)
    os.rename(folder, folder + ".moved")
    os.symlink(folder, folder)
    expect(f"--checkpoint {folder}: cannot", "--steps", "4", "--checkpoint", folder, "--resume")


def memory(directory):
    """Started without a new process: the system's maximum is then also that of what was there before."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        ballast = bytearray(400 * MIB)
        for i in range(0, len(ballast), 4096):
            ballast[i] = 1
        os.dup2(write, 1)
        os.execv(command[0], command)
    os.close(write)
    text = os.fdopen(read).read()
    os.waitpid(child, 0)
    peak = re.search(r"peak resident memory ([0-9.]+) MiB", text)
    assert peak and float(peak[1]) < 200, text


with tempfile.TemporaryDirectory() as directory:
    globals()[case](directory)
