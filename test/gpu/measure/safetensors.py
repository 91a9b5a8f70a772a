"""Reads safetensors files with the standard library: the GPU machine may have no numpy."""
import array
import json
import struct
import sys

FORMATS = {"F64": "d", "F32": "f", "I64": "q", "I32": "i"}


def widen(data):
    """bf16 as f32."""
    halves = array.array("H", data)
    return array.array("f", array.array("I", [half << 16 for half in halves]).tobytes())


def read(path):
    """{name: (shape, array of numbers)}."""
    assert sys.byteorder == "little"
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            part = data[begin:end]
            tensors[name] = entry["shape"], widen(part) if entry["dtype"] == "BF16" else array.array(FORMATS[entry["dtype"]], part)
    return tensors
