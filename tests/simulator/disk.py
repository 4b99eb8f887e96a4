"""A disk below SQLite, and what happens to it: writes that are lost, torn or kept when the power fails, and I/O errors.

It is a file system of SQLite's (a VFS) that passes everything on to SQLite's own, so that files, locks and shared
memory are real ones, and takes note of every write, sync, truncation, creation and removal on the way. What was written
since the last sync of a file is not durable: after a power cut, any part of it may be there. Nothing is really synced.

Before each step that changes a file, and before reads, `Disk.step` is asked: it may let other clients go first, and
returns the code of an error to be reported instead, or 0.
"""

import ctypes
import sys
from collections import Counter
from collections.abc import Callable
from ctypes import CFUNCTYPE, byref, c_char_p, c_int, c_int64, c_void_p
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any, Final, NamedTuple

from budgetbandits.campaigns.sql.library import newest_driver

OK: Final = 0
IO_ERRORS: Final = {"read": 10 | 1 << 8, "write": 10 | 3 << 8, "sync": 10 | 4 << 8, "truncate": 10 | 6 << 8}
IO_ERROR: Final = 10
FULL: Final = 13
SECTOR: Final = 512  # bytes that a disk writes as a whole
ON_DISK: Final = 0x00000100 | 0x00000800 | 0x00080000  # a database, its rollback journal, its log

_METHODS: Final = (
    "Close Read Write Truncate Sync FileSize Lock Unlock CheckReservedLock FileControl SectorSize "
    "DeviceCharacteristics ShmMap ShmLock ShmBarrier ShmUnmap Fetch Unfetch"
)
_SYSTEM: Final = (
    "Open Delete Access FullPathname DlOpen DlError DlSym DlClose Randomness Sleep CurrentTime GetLastError "
    "CurrentTimeInt64 SetSystemCall GetSystemCall NextSystemCall"
)


class _Methods(ctypes.Structure):
    """sqlite3_io_methods: what can be done with an open file."""

    _fields_ = [("version", c_int), *((name, c_void_p) for name in _METHODS.split())]


class _System(ctypes.Structure):
    """sqlite3_vfs: what can be done with a file system."""

    _fields_ = [
        ("version", c_int),
        ("file_size", c_int),
        ("longest_path", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("data", c_void_p),
        *((name, c_void_p) for name in _SYSTEM.split()),
    ]


_CLOSE: Final = CFUNCTYPE(c_int, c_void_p)
_READ = _WRITE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
_TRUNCATE: Final = CFUNCTYPE(c_int, c_void_p, c_int64)
_SYNC: Final = CFUNCTYPE(c_int, c_void_p, c_int)
_OPEN: Final = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p)
_DELETE: Final = CFUNCTYPE(c_int, c_void_p, c_char_p, c_int)
_SLEEP: Final = CFUNCTYPE(c_int, c_void_p, c_int)
_RANDOMNESS: Final = CFUNCTYPE(c_int, c_void_p, c_int, c_void_p)


class Change(NamedTuple):
    """A change of a file that is not durable yet: so many bytes from a place on, a new size, or its creation or end."""

    kind: str
    place: int = 0
    data: bytes = b""


class Durable:
    """What a power cut leaves of a file: what was synced, and any part of what was changed since.

    Attributes
    ----------
    content
        What was there at the last sync; None if the file was not.
    changes
        What was done to it since.
    """

    def __init__(self, content: bytes | None) -> None:
        self.content = None if content is None else bytearray(content)
        self.changes: list[Change] = []

    def sync(self) -> None:
        for change in self.changes:
            self._apply(change)
        self.changes.clear()

    def cut(self, chance: Random) -> bytes | None:
        """Return what is found after a power cut; None if there is no file."""
        way = chance.choice(["all", "none", "prefix", "any", "any"])
        last = chance.randint(0, len(self.changes))
        for number, change in enumerate(self.changes):
            is_kept = way == "all" or (way == "prefix" and number < last) or (way == "any" and chance.random() < 0.5)
            if change.kind == "write" and way == "any" and change.data:
                self._tear(change, chance)
            elif is_kept:
                self._apply(change)
            elif change.kind in ("create", "delete"):
                break  # what comes after it is about another file of that name
        self.changes.clear()
        return None if self.content is None else bytes(self.content)

    def _tear(self, change: Change, chance: Random) -> None:
        for place in range(0, len(change.data), SECTOR):
            if chance.random() < 0.5:
                self._apply(Change("write", change.place + place, change.data[place : place + SECTOR]))

    def _apply(self, change: Change) -> None:
        if change.kind == "create":
            self.content = bytearray()
        elif change.kind == "delete" or self.content is None:
            self.content = None
        elif change.kind == "truncate":
            del self.content[change.place :]
        else:
            end = change.place + len(change.data)
            self.content.extend(bytes(max(end - len(self.content), 0)))
            self.content[change.place : end] = change.data


class OpenFile(NamedTuple):
    """A file that is open, by whom, and where what is durable of it is kept."""

    path: str
    owner: Any
    durable: Durable


class Disk:
    """Registers itself as the file system of the SQLite that campaigns use, until it is closed.

    Parameters
    ----------
    chance
        Decides what a power cut leaves, and is the source of SQLite's own random numbers.

    Attributes
    ----------
    step
        Is asked before each step of an open file: what is done, to which file, and who opened it.
    sleep
        Is told when SQLite waits for a lock.
    opener
        Says who opens a file.
    writes
        How often each file was written to: real files tell when, which is never twice the same.
    """

    def __init__(self, chance: Random) -> None:
        self.step: Callable[[str, str, Any], int] = lambda what, path, owner: OK
        self.sleep: Callable[[], None] = lambda: None
        self.opener: Callable[[], Any] = lambda: None
        self.writes: Counter[str] = Counter()
        self._chance = chance
        self._files: dict[str, Durable] = {}
        self._open: dict[int, OpenFile] = {}
        self._library = _library_of(newest_driver())
        self._default = self._library.sqlite3_vfs_find(None)
        self._real = _System.from_address(self._default)
        self._methods: dict[int, tuple[_Methods, _Methods]] = {}  # by the address of the real ones: those, and ours
        self._kept = {
            "Open": _OPEN(self._on_open),
            "Delete": _DELETE(self._on_delete),
            "Sleep": _SLEEP(self._on_sleep),
            "Randomness": _RANDOMNESS(self._on_randomness),
            "Close": _CLOSE(self._on_close),
            "Read": _READ(self._on_read),
            "Write": _WRITE(self._on_write),
            "Truncate": _TRUNCATE(self._on_truncate),
            "Sync": _SYNC(self._on_sync),
        }
        self._system = _System.from_buffer_copy(self._real)
        self._system.name, self._system.next = b"simulated", None
        self._replace(self._system, ("Open", "Delete", "Sleep", "Randomness"))
        self._real_open, self._real_delete = _OPEN(self._real.Open), _DELETE(self._real.Delete)
        self._library.sqlite3_vfs_register(byref(self._system), 1)
        self._library.sqlite3_randomness(0, None)  # its own generator starts anew, from this one

    def close(self) -> None:
        self._library.sqlite3_vfs_unregister(byref(self._system))
        self._library.sqlite3_vfs_register(self._default, 1)
        self._library.sqlite3_randomness(0, None)

    def cut_power(self) -> None:
        """Leave of all files what a power cut may leave; nobody may have them open."""
        for path, durable in sorted(self._files.items()):
            content = durable.cut(self._chance)
            Path(path).unlink(missing_ok=True)
            if content is not None:
                Path(path).write_bytes(content)
            Path(path.removesuffix("-wal") + "-shm").unlink(missing_ok=True)
        self._files.clear()

    def adopt(self, *paths: str) -> None:
        """Take files as they are for durable: somebody else has put them there."""
        for path in paths:
            self._files.pop(path, None)

    def _replace(self, table: ctypes.Structure, names: tuple[str, ...]) -> None:
        for name in names:
            setattr(table, name, ctypes.cast(self._kept[name], c_void_p).value)

    def _durable(self, path: str) -> Durable:
        if path not in self._files:
            self._files[path] = Durable(Path(path).read_bytes() if Path(path).exists() else None)
        return self._files[path]

    # What SQLite calls

    def _on_open(self, system: int, name: int | None, file: int, flags: int, out: int | None) -> int:
        path = None if name is None else ctypes.string_at(name).decode()
        is_tracked = path is not None and flags & ON_DISK and not path.endswith(".part")
        is_new = is_tracked and not Path(str(path)).exists()
        durable = self._durable(str(path)) if is_tracked else None
        code: int = self._real_open(system, name, file, flags, out)
        methods = c_void_p.from_address(file)
        if code == OK and durable is not None and methods.value:
            if is_new and Path(str(path)).exists():
                durable.changes.append(Change("create"))
            self._open[file] = OpenFile(str(path), self.opener(), durable)
            methods.value = ctypes.addressof(self._methods_for(methods.value)[1])
        return code

    def _methods_for(self, address: int) -> tuple[_Methods, _Methods]:
        if address not in self._methods:
            real = _Methods.from_address(address)
            ours = _Methods.from_buffer_copy(real)
            self._replace(ours, ("Close", "Read", "Write", "Truncate", "Sync"))
            self._methods[address] = real, ours
            self._of(real)
        return self._methods[address]

    def _of(self, real: _Methods) -> None:
        """Take the functions of the real files; there is one kind of them, as long as all are on one file system."""
        self._real_close, self._real_read = _CLOSE(real.Close), _READ(real.Read)
        self._real_write, self._real_truncate = _WRITE(real.Write), _TRUNCATE(real.Truncate)

    def _on_close(self, file: int) -> int:
        self._open.pop(file, None)
        return int(self._real_close(file))

    def _on_read(self, file: int, data: int, length: int, place: int) -> int:
        if code := self.step("read", *self._open[file][:2]):
            return code
        return int(self._real_read(file, data, length, place))

    def _on_write(self, file: int, data: int, length: int, place: int) -> int:
        path, owner, durable = self._open[file]
        if code := self.step("write", path, owner):
            return code
        self.writes[path] += 1
        durable.changes.append(Change("write", place, ctypes.string_at(data, length)))
        return int(self._real_write(file, data, length, place))

    def _on_truncate(self, file: int, size: int) -> int:
        path, owner, durable = self._open[file]
        if code := self.step("truncate", path, owner):
            return code
        durable.changes.append(Change("truncate", size))
        return int(self._real_truncate(file, size))

    def _on_sync(self, file: int, flags: int) -> int:
        path, owner, durable = self._open[file]
        if code := self.step("sync", path, owner):
            return code
        durable.sync()
        return OK

    def _on_delete(self, system: int, name: bytes, is_durable: int) -> int:
        path = name.decode()
        if code := self.step("delete", path, self.opener()):
            return code
        code = int(self._real_delete(system, name, 0))
        if code == OK and path in self._files:
            self._files[path].changes.append(Change("delete"))
            if is_durable:
                self._files[path].sync()
        return code

    def _on_sleep(self, system: int, microseconds: int) -> int:
        self.sleep()
        return microseconds

    def _on_randomness(self, system: int, length: int, out: int) -> int:
        ctypes.memmove(out, self._chance.randbytes(length), length)
        return length


def _library_of(driver: ModuleType) -> ctypes.CDLL:
    """Return the SQLite that a driver uses."""
    driver.connect(":memory:").close()  # it is initialized then
    own = sys.modules.get(f"{driver.__name__}._sqlite3")  # Python's driver has it in a library of the system
    library = ctypes.CDLL("libsqlite3.so.0" if own is None else str(own.__file__))
    library.sqlite3_vfs_find.restype = c_void_p
    library.sqlite3_vfs_find.argtypes = [c_char_p]
    library.sqlite3_vfs_register.argtypes = [c_void_p, c_int]
    library.sqlite3_vfs_unregister.argtypes = [c_void_p]
    library.sqlite3_randomness.argtypes = [c_int, c_void_p]
    return library
