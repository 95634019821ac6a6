"""Where this process lives on Linux: machine, boot, namespaces."""

from __future__ import annotations

from runcoord._core.identity import Habitat
from runcoord._processes.procfs import Procfs

SOURCE = "linux-proc"
"""Start values are ticks of ``/proc/PID/stat``, counted from the boot."""
MACHINE_ID_FILES = ("/etc/machine-id", "/var/lib/dbus/machine-id")

_INITIAL_PID_NAMESPACE = "4026531836"
"""``PROC_PID_INIT_INO``: a constant of the kernel."""


def read_habitat(proc: Procfs, machine_id_files: tuple[str, ...] = MACHINE_ID_FILES) -> Habitat:
    """Read it; what cannot be read is empty, and then nothing can be compared."""
    boot = _text(proc, "sys/kernel/random/boot_id")
    pid_namespace = _namespace(proc, "pid")
    time_namespace = _namespace(proc, "time")
    offset = _boottime_offset(proc)
    if offset:
        # The numbers of namespaces are used anew, and start values are shifted by this one's offset.
        time_namespace = f"{time_namespace}{offset}"
    return Habitat(
        host=_host(machine_id_files, boot, pid_namespace),
        boot_id=boot,
        pid_namespace=pid_namespace,
        time_namespace=time_namespace,
        source=SOURCE,
    )


def _host(files: tuple[str, ...], boot: str, pid_namespace: str) -> str:
    """The machine's own id.

    A container may carry the id of the image that it was made of, which many machines have; there, another
    boot may be another machine, and a record of one proves nothing. So it is the boot that names the host.
    """
    if pid_namespace == _INITIAL_PID_NAMESPACE:
        for name in files:
            found = _machine_id(name)
            if found:
                return found
    return f"boot-{boot}" if boot else ""


def _machine_id(name: str) -> str:
    """32 hexadecimal digits, else empty: ``uninitialized`` stands there in images."""
    try:
        with open(name, encoding="ascii", errors="replace") as file:
            text = file.read(64).strip()
    except OSError:
        return ""
    plain = len(text) == 32 and not set(text) - set("0123456789abcdef") and set(text) != {"0"}
    return text if plain else ""


def _text(proc: Procfs, name: str) -> str:
    try:
        return proc.text(name)
    except OSError:
        return ""


def _namespace(proc: Procfs, kind: str) -> str:
    """The number of our namespace; empty where the kernel has none of the kind."""
    try:
        return proc.link(f"self/ns/{kind}").partition("[")[2].rstrip("]")
    except OSError:
        return ""


def _boottime_offset(proc: Procfs) -> str:
    """How far the time namespace shifts boottime, as ``+SECONDS.NANOSECONDS``; empty when it does not."""
    for line in _text(proc, "self/timens_offsets").splitlines():
        words = line.split()
        if len(words) == 3 and words[0] in {"boottime", "7"} and words[1:] != ["0", "0"]:
            return f"+{words[1]}.{words[2]}"
    return ""
