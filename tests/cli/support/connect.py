"""A client of Pyroscope's debug-info service, as profilecli and the eBPF agent of Alloy behave: unary calls of the Connect
protocol, in protobuf or JSON, and a plain POST with the file."""

import base64
import gzip
import json

SERVICE = "/debuginfo.v1alpha1.DebuginfoService/"
FULL, NO_TEXT = 1, 2
TYPES = ("TYPE_UNSPECIFIED", "TYPE_EXECUTABLE_FULL", "TYPE_EXECUTABLE_NO_TEXT")


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, value):
    """A field of protobuf: a number, or text or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def fields(data):
    """The fields of a message: number -> list of values."""
    found = {}
    position = 0

    def take():
        nonlocal position
        value = shift = 0
        while True:
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while position < len(data):
        key = take()
        value = take()
        if key & 7 == 2:
            value, position = data[position : position + value], position + value
        found.setdefault(key >> 3, []).append(value)
    return found


class Refused(Exception):
    """A Connect error: status of HTTP, code, message."""

    def __init__(self, status, code, message):
        super().__init__(f"{status} {code}: {message}")
        self.status, self.code, self.message = status, code, message


class Client:
    def __init__(self, server, is_json=False, compress=False, key=None, scheme="basic"):
        self.server = server
        self.is_json, self.compress = is_json, compress
        self.headers = {"X-Scope-OrgID": "somebody", "User-Agent": "connect-go/1.18.1 (go1.25)"}
        if key and scheme == "basic":
            self.headers["Authorization"] = "Basic " + base64.b64encode(key.encode()).decode()
        elif key:
            self.headers["Authorization"] = "Bearer " + key

    def call(self, method, message):
        """MESSAGE and the reply are dicts for JSON, bytes for protobuf."""
        kind = "application/json" if self.is_json else "application/proto"
        headers = {**self.headers, "Content-Type": kind, "Connect-Protocol-Version": "1", "Accept-Encoding": "gzip"}
        body = json.dumps(message).encode() if self.is_json else message
        if self.compress:
            body, headers["Content-Encoding"] = gzip.compress(body), "gzip"
        reply = self.server.post(SERVICE + method, body, headers=headers)
        if reply.status != 200:
            assert reply.headers["Content-Type"] == "application/json", reply
            raise Refused(reply.status, reply.json["code"], reply.json["message"])
        assert reply.headers["Content-Type"] == kind, reply.headers["Content-Type"]
        return reply.json if self.is_json else reply.body

    def should_upload(self, build_id, kind=FULL, name="program", file_id="00" * 16):
        """(wanted, reason)"""
        if self.is_json:
            file = {"gnuBuildId": build_id, "name": name, "type": TYPES[kind], "otelFileId": file_id}
            reply = self.call("ShouldInitiateUpload", {"file": file})
            return reply.get("shouldInitiateUpload", False), reply.get("reason", "")
        message = field(1, build_id) + field(3, file_id) + field(4, name) + field(5, kind)
        reply = fields(self.call("ShouldInitiateUpload", field(1, message)))
        return reply.get(1) == [1], reply[2][0].decode()

    def upload(self, build_id, data):
        """Go does not know the length of what it reads from a file, so it sends chunks."""
        pieces = (data[i : i + 100_000] for i in range(0, len(data), 100_000))
        return self.server.post(SERVICE + "Upload/" + build_id, pieces, headers=self.headers)

    def finished(self, build_id):
        self.call("UploadFinished", {"gnuBuildId": build_id} if self.is_json else field(1, build_id))

    def delete(self, build_id):
        self.call("DeleteDebuginfo", {"gnuBuildId": build_id} if self.is_json else field(1, build_id))

    def list(self):
        """Of each file: build ID, type, state, size, finished."""
        if self.is_json:
            rows = self.call("ListDebuginfo", {}).get("object", [])
            return [(row["file"]["gnuBuildId"], TYPES.index(row["file"]["type"]), row["state"] == "STATE_UPLOADED",
                     int(row["sizeBytes"]), row["finishedAt"]) for row in rows]  # fmt: skip
        rows = [fields(row) for row in fields(self.call("ListDebuginfo", b"")).get(1, [])]
        found = []
        for row in rows:
            file, time = fields(row[1][0]), fields(row[4][0])
            found.append((file[1][0].decode(), file[5][0], row[2] == [1], row[5][0], time[1][0]))
        return found

    def push(self, build_id, data, kind=FULL):
        """What `profilecli debuginfo upload` does. The reason if the server does not want the file."""
        wanted, reason = self.should_upload(build_id, kind)
        if not wanted:
            return reason
        reply = self.upload(build_id, data)
        assert reply.status == 200, reply
        self.finished(build_id)
        return None
