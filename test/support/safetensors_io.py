"""Reads and writes safetensors files with numpy alone.

A file is: 8 bytes, little endian, the header's size; the header, JSON of name -> {dtype, shape, data_offsets}; the bytes.
"""
import json
import struct

import numpy as np

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U16": "<u2", "U8": "u1", "BOOL": "?"}
NAMES = {np.dtype(v): k for k, v in DTYPES.items()}


def read(path):
    """{name: array}; bf16 comes as f32, which holds each of its values."""
    with open(path, "rb") as file:
        content = file.read()
    (size,) = struct.unpack("<Q", content[:8])
    data = memoryview(content)[8 + size:]
    tensors = {}
    for name, entry in json.loads(content[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        if entry["dtype"] == "BF16":
            array = (np.frombuffer(data[begin:end], "<u2").astype("<u4") << 16).view("<f4")
        else:
            array = np.frombuffer(data[begin:end], DTYPES[entry["dtype"]])
        tensors[name] = array.reshape(entry["shape"])
    return tensors


class BF16:
    """An f32 array of values that bf16 has, to be written as such."""

    def __init__(self, values):
        self.bits = (np.ascontiguousarray(values, "<f4").view("<u4") >> 16).astype("<u2").reshape(np.shape(values))


def write(path, tensors):
    header, offset = {}, 0
    types = {name: "BF16" if isinstance(tensor, BF16) else NAMES[tensor.dtype] for name, tensor in tensors.items()}
    tensors = {name: tensor.bits if isinstance(tensor, BF16) else tensor for name, tensor in tensors.items()}
    for name, array in tensors.items():
        header[name] = {"dtype": types[name], "shape": list(array.shape),
                        "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            file.write(np.ascontiguousarray(array).tobytes())
