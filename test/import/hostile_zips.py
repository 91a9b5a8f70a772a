"""The rows of hostile.py that break the zip, and the zip's own writer."""
import io
import json
import struct
import zipfile
import zlib

CASES = {}


def case(*words):
    def add(function):
        CASES[function.__name__] = (function, list(words) or None)
        return function
    return add


class Archive:
    """An archive's entries, by their names in its folder."""

    def __init__(self, data):
        self.data = data
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            self.root = file.namelist()[0].split("/", 1)[0]
            self.entries = {name.split("/", 1)[1]: file.read(name) for name in file.namelist()}

    def change(self, function):
        """Changes the program."""
        model = json.loads(self.entries["models/model.json"])
        function(model)
        self.entries["models/model.json"] = json.dumps(model).encode()


def pack(archive, compressed=(), names=None, local=None, central=None, end=None):
    """The bytes of an archive. `compressed`: entries to deflate; `names`: other names of entries; `local`, `central`, `end`: fields of an
    entry's headers (by entry) and of the end record to replace."""
    content, directory = b"", b""
    for name, data in archive.entries.items():
        path = (names or {}).get(name, f"{archive.root}/{name}").encode()
        method = 8 if name in compressed else 0
        stored = zlib.compress(data, 9)[2:-4] if method else data
        fields = dict(flags=0x800, method=method, crc=zlib.crc32(data), packed=len(stored), size=len(data), offset=len(content))
        here, there = {**fields, **(local or {}).get(name, {})}, {**fields, **(central or {}).get(name, {})}
        padding = -(len(content) + 30 + len(path)) % 64
        content += struct.pack("<4sHHHHHIIIHH", here.get("signature", b"PK\3\4"), 20, here["flags"], here["method"], 0, 33, here["crc"], here["packed"],
                               here["size"], here.get("name_length", len(path)), here.get("extra_length", padding)) + path + b"\0" * padding + stored
        directory += struct.pack("<4sHHHHHHIIIHHHHHII", there.get("signature", b"PK\1\2"), 20, 20, there["flags"], there["method"], 0, 33, there["crc"],
                                 there["packed"], there["size"], there.get("name_length", len(path)), there.get("extra_length", 0), 0, 0, 0, 0,
                                 there["offset"]) + path
    last = {**dict(count=len(archive.entries), size=len(directory), offset=len(content), comment=0), **(end or {})}
    return content + directory + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, last["count"], last["count"], last["size"], last["offset"], last["comment"])


@case("zip")
def zip_is_empty(a):
    return b""


@case("zip")
def zip_is_text(a):
    return b"hello, world\n" * 100


@case("zip")
def zip_is_a_pickle(a):
    return b"\x80\x02}q\x00." * 20


@case("zip")
def zip_cut_in_half(a):
    return a.data[:len(a.data) // 2]


@case("zip")
def zip_cut_in_the_directory(a):
    return a.data[:-300]


@case("zip")
def zip_cut_in_the_end_record(a):
    return a.data[:-1]


@case("zip")
def zip_without_its_beginning(a):
    return a.data[100:]


@case("no models/model.json")
def zip_has_no_entries(a):
    return struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 0, 0, 0, 0, 0)


@case("no whole archive")
def entry_offset_beyond(a):
    return pack(a, central={"data/weights/weight_0": dict(offset=0x7fffffff)})


@case("no whole archive")
def entry_offset_into_another(a):
    return pack(a, central={"data/weights/weight_0": dict(offset=17)})


@case("no whole archive")
def entry_size_beyond(a):
    return pack(a, central={"data/weights/weight_0": dict(size=0x7fffffff, packed=0x7fffffff)})


@case("no whole archive")
def entry_size_of_zip64_without_it(a):
    return pack(a, central={"data/weights/weight_0": dict(size=0xffffffff, packed=0xffffffff, offset=0xffffffff)})


@case("no whole archive")
def entry_sizes_differ(a):
    return pack(a, central={"data/weights/weight_0": dict(size=288, packed=280)})


@case("no whole archive")
def entry_local_header_is_noise(a):
    return pack(a, local={"data/weights/weight_0": dict(signature=b"\xff\xff\xff\xff")})


@case("no whole archive")
def entry_local_extra_beyond(a):
    last = list(a.entries)[-1]
    a.entries["data/weights/weight_0"] = a.entries.pop("data/weights/weight_0")
    assert last != "data/weights/weight_0"
    return pack(a, local={"data/weights/weight_0": dict(extra_length=0xffff)})


@case("zip")
def directory_name_beyond(a):
    last = list(a.entries)[-1]
    return pack(a, central={last: dict(name_length=0xffff)})


@case("zip")
def directory_entry_is_noise(a):
    return pack(a, central={"data/weights/weight_0": dict(signature=b"\0\0\0\0")})


@case("zip")
def directory_offset_beyond(a):
    return pack(a, end=dict(offset=0x7ffffff0))


@case("zip")
def directory_size_beyond(a):
    return pack(a, end=dict(size=0x7ffffff0))


@case("zip")
def directory_count_beyond(a):
    return pack(a, end=dict(count=60000))


@case("zip")
def end_record_comment_beyond(a):
    return pack(a, end=dict(comment=1000))


@case("checksum")
def entry_changed(a):
    return pack(a, central={"models/model.json": dict(crc=1)}, local={"models/model.json": dict(crc=1)})


@case("compressed")
def entry_deflated(a):
    return pack(a, compressed=["models/model.json"])


@case("compressed")
def entry_deflated_bomb(a):
    """256 MB in 256 kB."""
    a.entries["models/model.json"] = b" " * 2 ** 28
    return pack(a, compressed=["models/model.json"])


@case("password")
def entry_encrypted(a):
    return pack(a, central={"models/model.json": dict(flags=0x801)}, local={"models/model.json": dict(flags=0x801)})


@case("no whole archive")
def entry_twice(a):
    return pack(a, names={"byteorder": f"{a.root}/models/model.json"})


@case()
def entry_outside(a):
    return pack(a, names={"byteorder": f"{a.root}/../../../../tmp/outside"})


@case("two folders")
def entry_absolute(a):
    return pack(a, names={"byteorder": "/tmp/outside"})


@case("folder")
def entries_in_two_folders(a):
    return pack(a, names={"models/model.json": "other/models/model.json"})


@case()
def zip_of_another_writer(a):
    """Without data descriptors or padding that torch writes: right."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as file:
        for name, data in a.entries.items():
            file.writestr(f"{a.root}/{name}", data)
    return buffer.getvalue()


@case()
def zip_with_a_comment(a):
    """A comment at its end: right."""
    return pack(a, end=dict(comment=5)) + b"hello"


@case()
def zip_written_by_pack(a):
    """The writer of these rows: right."""
    return pack(a)


def zip64(a, record=None, **fields):
    """With the end records of an archive over 4 GiB."""
    data = pack(a)
    content, end = data[:-22], struct.unpack("<4sHHHHIIH", data[-22:])
    fields = {**dict(count=end[3], size=end[5], offset=end[6]), **fields}
    content += struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, fields["count"], fields["count"], fields["size"], fields["offset"])
    content += struct.pack("<4sIQI", b"PK\6\7", 0, len(data) - 22 if record is None else record, 1)
    return content + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 0xffff, 0xffff, 0xffffffff, 0xffffffff, 0)


@case()
def zip64_end_record(a):
    """Right."""
    return zip64(a)


@case()
def zip64_local_headers(a):
    """Sizes in an extra field of local headers, as a writer that does not know them yet: right."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as file:
        for name, data in a.entries.items():
            with file.open(zipfile.ZipInfo(f"{a.root}/{name}"), "w", force_zip64=True) as entry:
                entry.write(data)
    return buffer.getvalue()


@case("no whole archive")
def zip64_record_beyond(a):
    return zip64(a, record=2 ** 63)


@case("no whole archive")
def zip64_directory_beyond(a):
    return zip64(a, offset=2 ** 64 - 16)


@case("no whole archive")
def zip64_directory_size_overflows(a):
    return zip64(a, size=2 ** 64 - 1)


@case("no whole archive")
def zip64_count_beyond(a):
    return zip64(a, count=2 ** 63)
