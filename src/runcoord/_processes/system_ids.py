"""The system's own names of a machine and of a boot of it, where there is no ``/proc``.

``psutil.boot_time()`` is none: it is computed from the clock, and moves with it.
"""

from __future__ import annotations

from runcoord._core.values import value


@value
class SystemIds:
    """Empty is unknown: then nothing is compared."""

    host: str = ""
    boot: str = ""


def system_ids(platform: str) -> SystemIds:
    """Those of this machine."""
    if platform == "darwin":
        return SystemIds(_darwin_host(), _darwin_boot())
    if platform == "win32":
        # Windows names no boot. So a record proves nothing there, and nobody is signalled by one.
        return SystemIds(_windows_host(), "")
    if platform == "linux":
        from runcoord._processes.habitat import read_habitat
        from runcoord._processes.procfs import Procfs

        here = read_habitat(Procfs())
        return SystemIds(here.host, here.boot_id)
    return SystemIds()


def _darwin_boot() -> str:
    """``kern.bootsessionuuid``, made anew by the kernel at each boot."""
    import ctypes

    try:
        libc = ctypes.CDLL(None)
        text = ctypes.create_string_buffer(64)
        size = ctypes.c_size_t(len(text))
        failed = libc.sysctlbyname(
            b"kern.bootsessionuuid", text, ctypes.byref(size), None, ctypes.c_size_t(0)
        )
    except (OSError, AttributeError):
        return ""
    return "" if failed else text.value.decode("ascii", "replace")


def _darwin_host() -> str:
    """``gethostuuid(2)``: the identifier of the hardware."""
    import ctypes

    class Timespec(ctypes.Structure):
        _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))

    try:
        libc = ctypes.CDLL(None)
        found = ctypes.create_string_buffer(16)
        failed = libc.gethostuuid(found, ctypes.byref(Timespec(1, 0)))
    except (OSError, AttributeError):
        return ""
    return "" if failed or not any(found.raw) else found.raw.hex()


def _windows_host() -> str:
    """``MachineGuid``, made when Windows was installed."""
    try:
        import winreg
    except ImportError:
        return ""
    registry: object = winreg
    try:
        open_key = getattr(registry, "OpenKey")  # noqa: B009 - unknown to type checkers on other systems
        root = getattr(registry, "HKEY_LOCAL_MACHINE")  # noqa: B009
        read = getattr(registry, "QueryValueEx")  # noqa: B009
        with open_key(root, r"SOFTWARE\Microsoft\Cryptography") as key:
            return str(read(key, "MachineGuid")[0])
    except (OSError, AttributeError):
        return ""
