"""Reads event files of TensorBoard without it: TFRecord's frames, then the wire format of protocol buffers, of which every byte must be known."""
import json
import os
import struct


def crc32c(data):
    """Bit by bit, from the polynomial of RFC 3720."""
    rest = 0xFFFFFFFF
    for byte in data:
        rest ^= byte
        for _ in range(8):
            rest = rest >> 1 ^ (0x82F63B78 if rest & 1 else 0)
    return rest ^ 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283 and crc32c(bytes(32)) == 0x8A9136AA


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) % 2**32


def records(data):
    while data:
        head, [length] = data[:8], struct.unpack("<Q", data[:8])
        body = data[12:12 + length]
        assert len(body) == length, "the file ends within a record"
        assert struct.unpack("<I", data[8:12]) == (masked(head),), "the length's checksum"
        assert struct.unpack("<I", data[12 + length:16 + length]) == (masked(body),), "the record's checksum"
        yield body
        data = data[16 + length:]


def varint(data):
    number = shift = 0
    while True:
        byte, data = data[0], data[1:]
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, data


def fields(data):
    """[(number, value)]: a whole number, bytes of a fixed size, or a text."""
    found = []
    while data:
        key, data = varint(data)
        if key & 7 == 0:
            value, data = varint(data)
        else:
            length = {1: 8, 5: 4}.get(key & 7)
            if key & 7 == 2:
                length, data = varint(data)
            value, data = data[:length], data[length:]
            assert len(value) == length, "a field ends too early"
        found.append((key >> 3, value))
    return found


def read_event(record):
    """{"wall_time", "step", and "version", "started" or "values"}"""
    [(one, wall), (two, step), *rest] = fields(record)
    assert (one, two) == (1, 2), (one, two)
    event = {"wall_time": struct.unpack("<d", wall)[0], "step": step}
    for number, value in rest:
        if number == 3:
            event["version"] = value.decode()
        elif number == 7:
            assert fields(value) == [(1, 1)], "a session log other than START"
            event["started"] = True
        else:
            assert number == 5, f"field {number} of an event"
            event["values"] = {}
            for one, each in fields(value):
                [(tag, name), (simple, bits)] = fields(each)
                assert (one, tag, simple) == (1, 1, 2) and name.decode() not in event["values"], (one, tag, simple, name)
                event["values"][name.decode()] = struct.unpack("<f", bits)[0]
    return event


def read_file(path):
    with open(path, "rb") as file:
        events = [read_event(record) for record in records(file.read())]
    assert events[0]["version"] == "brain.Event:2" and not any("version" in event for event in events[1:]), path
    assert all(event["wall_time"] > 0 for event in events), path
    return events


def read_folder(folder):
    """{tag: [(step, value)]} as TensorBoard has it: files in the order of their names, where a session's start forgets what comes from its step on."""
    scalars = {}
    for name in sorted(name for name in os.listdir(folder) if "tfevents" in name):
        for event in read_file(os.path.join(folder, name)):
            if "started" in event:
                scalars = {tag: [(step, value) for step, value in points if step < event["step"]] for tag, points in scalars.items()}
            for tag, value in event.get("values", {}).items():
                scalars.setdefault(tag, []).append((event["step"], value))
    return scalars


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def expected(log):
    """What read_folder returns, by the events of a log."""
    scalars = {}
    for record in map(json.loads, open(log, encoding="utf8")):
        if record["event"] == "start":
            first = record["first_step"]
            scalars = {tag: [point for point in points if point[0] < first] for tag, points in scalars.items()}
        if record["event"] not in ("step", "eval"):
            continue
        group = {"step": "train", "eval": "eval"}[record["event"]]
        known = {name: record[name] for name in ("loss", "norm", "lr") if record.get(name) is not None}
        known.update((name, value) for name, value in record.items() if name.endswith("_per_second"))
        for name, value in {**known, **record.get("metrics", {})}.items():
            scalars.setdefault(f"{group}/{name}", []).append((record["step"], value))
    return scalars


def expect_same(ours, log):
    """The scalars of a folder are the numbers of the log, rounded to f32; throughput is rounded in the log."""
    theirs = expected(log)
    assert set(ours) == set(theirs) and theirs, f"tags {sorted(ours)} instead of {sorted(theirs)}"
    for tag, points in theirs.items():
        assert [step for step, _ in ours[tag]] == [step for step, _ in points], f"{tag}: steps {ours[tag]} instead of {points}"
        for (step, value), (_, logged) in zip(ours[tag], points):
            if logged is None:  # JSON has no NaN
                assert value != value, f"{tag}, step {step}: {value} instead of NaN"
                continue
            near = abs(value - logged) <= 0.051 + 1e-6 * logged if tag.endswith("_per_second") else value == f32(logged)
            assert near, f"{tag}, step {step}: {value} instead of {logged}"
