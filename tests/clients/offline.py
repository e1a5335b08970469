"""A place with no way out: a network namespace that has only loopback, for real programs that may call home."""

import array
import os
import shutil
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Sequence
from types import TracebackType
from typing import Self

# Brings loopback up, then answers each port number on its socket with a socket made in here: connected to that port,
# or for port 0 one that listens.
_HOLDER = """
import array, fcntl, socket, struct, sys
probe = socket.socket()
fcntl.ioctl(probe, 0x8914, struct.pack("16sH14s", b"lo", 1 | 64, b""))
channel = socket.socket(fileno=int(sys.argv[1]))
channel.send(b"up")
while asked := channel.recv(5):
    made = socket.socket()
    try:
        if int(asked):
            made.connect(("127.0.0.1", int(asked)))
        else:
            made.bind(("127.0.0.1", 0))
            made.listen(128)
    except OSError:
        channel.send(b"no")
    else:
        channel.sendmsg([b"ok"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [made.fileno()]))])
    made.close()
"""


class Offline:
    """Runs commands where only 127.0.0.1 is reachable, and makes sockets there that this process accepts on.

    Where the system allows no namespaces it warns, and the programs run on the machine's own network: they are
    configured for loopback only in any case.
    """

    def __init__(self) -> None:
        self._holder: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._asking = threading.Lock()
        if not (shutil.which("unshare") and shutil.which("nsenter")):
            warnings.warn("no unshare/nsenter: client programs run with the network of this machine", stacklevel=2)
            return
        mine, theirs = socket.socketpair()
        command = ["unshare", "--user", "--map-root-user", "--net", "--", sys.executable, "-I", "-c", _HOLDER]
        self._holder = subprocess.Popen(
            [*command, str(theirs.fileno())], pass_fds=[theirs.fileno()], stderr=subprocess.PIPE
        )
        theirs.close()
        if mine.recv(2) == b"up":
            self._channel = mine
            return
        mine.close()
        _, said = self._holder.communicate()
        self._holder = None
        warnings.warn(
            f"no network namespace ({said.decode().strip()}): client programs run with the network of this machine",
            stacklevel=2,
        )

    def listen(self) -> socket.socket:
        """A listening TCP socket on a free port of the place's loopback."""
        if self._channel is not None:
            return self._made_inside(0)
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        return listener

    def connect(self, port: int) -> socket.socket:
        """A connection to a port in here. Raises ConnectionRefusedError."""
        if self._channel is not None:
            return self._made_inside(port)
        return socket.create_connection(("127.0.0.1", port))

    def free_port(self) -> int:
        """A port that nobody listens on in here."""
        with self.listen() as listener:
            port: int = listener.getsockname()[1]
            return port

    def _made_inside(self, port: int) -> socket.socket:
        assert self._channel is not None
        with self._asking:
            self._channel.send(b"%05d" % port)
            _, ancillary, _, _ = self._channel.recvmsg(2, socket.CMSG_SPACE(4))
        if not ancillary:
            raise ConnectionRefusedError(f"nobody listens on port {port}")
        descriptors = array.array("i")
        descriptors.frombytes(ancillary[0][2][:4])
        return socket.socket(fileno=descriptors[0])

    def command(self, argv: Sequence[str | os.PathLike[str]]) -> list[str]:
        """The command line that runs `argv` in here."""
        words = [os.fspath(word) for word in argv]
        if self._holder is None:
            return words
        inside = ["nsenter", "--target", str(self._holder.pid), "--user", "--net", "--preserve-credentials", "--"]
        return inside + words

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._channel is not None:
            self._channel.close()
        if self._holder is not None:
            if self._holder.stderr:
                self._holder.stderr.close()
            self._holder.wait(10)
