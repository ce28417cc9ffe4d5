"""docs/openapi.json against a running server: every operation, every status that it describes, and every body."""

import json
import pathlib
import re
import shutil
import tempfile
import urllib.parse

from support import connect, otlp, sextant, tap
from support.schema import Document
from support.service import Server, read_reply, status_of, store_folder

LIMIT = 1 << 20
KEYS = "all:key\nreader:key:read\nuploader:key:upload\n"
UNKNOWN = "00" * 20
PAGES = (sextant.ROOT / "web/dist/service.html").is_file()


class Case:
    """A request, and the status of its reply. Words fill the path; HEADERS, QUERY and BODY are sent as they are."""

    def __init__(self, operation, status, words=(), query="", body=None, headers=None):
        self.operation, self.status, self.words, self.query = operation, status, words, query
        self.body, self.headers = body, headers or {}


class Described(sextant.ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        sextant.need_tool("gcc")
        sextant.need_tool("objcopy")
        folder = tempfile.TemporaryDirectory(prefix="sextant-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.place = place = pathlib.Path(folder.name)
        (place / "a.c").write_text("int main(int argc, char **argv) { (void)argv; return argc; }\n")
        sextant.tool("gcc", "-g", "-Wl,--build-id", "-o", place / "a", place / "a.c")
        sextant.tool("objcopy", "--only-keep-debug", place / "a", place / "debug")
        sextant.run("archive", place / "a", "-o", place / "a.symbfile")
        sextant.run("archive", place / "a", "-o", place / "a.returnpads")
        sextant.run("archive", place / "a", "-o", place / "a.size")
        cls.sizes = (place / "a.size").read_bytes()
        cls.binary, cls.debug = (place / "a").read_bytes(), (place / "debug").read_bytes()
        cls.parts = {kind: (place / ("a." + kind)).read_bytes() for kind in ("symbfile", "returnpads")}
        info = json.loads(sextant.run("info", "--json", place / "a").out)
        cls.build_id, cls.file_id = info["build_id"], info["file_id"]
        cls.address = sextant.run("lookup", "--json", "--name", "main", place / "a").json_lines()[0]["address"]

    def setUp(self):
        super().setUp()
        self.store = store_folder(self)
        self.server = Server(self.store, "--api-key-file", self.file("keys", KEYS), "--body-limit", str(LIMIT))
        self.addCleanup(self.server.stop)
        self.document = Document(self.server.get("/openapi.json").json)
        self.operations = {}
        for path, method, operation, parameters in self.document.operations():
            self.operations[operation["operationId"]] = (path, method, operation, parameters)
        self.seen = set()

    # --- one request ---

    def check_reply(self, name, reply, is_head=False):
        """The reply is one that the document describes."""
        _, _, operation, _ = self.operations[name]
        label = f"{name} {reply}"
        responses = operation["responses"]
        self.assertIn(str(reply.status), responses, label)
        self.seen.add((name, str(reply.status)))
        described = self.document.resolve(responses[str(reply.status)])
        for header in described.get("headers", {}):
            self.assertIn(header, reply.headers, label)
        kind = (reply.headers["Content-Type"] or "").split(";")[0]
        if "content" not in described:
            self.assertEqual((kind, reply.body), ("", b""), label)
            return
        self.assertIn(kind, described["content"], label)
        if is_head:
            self.assertEqual(reply.body, b"", label)
        elif kind == "application/json":
            schema = described["content"][kind].get("schema", {})
            self.assertEqual(self.document.problems(reply.json, schema), [], label)

    def check_request(self, case):
        """A request that succeeds is one that the document describes."""
        _, _, operation, parameters = self.operations[case.operation]
        words = dict(zip(re.findall(r"\{(\w+)\}", self.operations[case.operation][0]), case.words))
        given = {"header": case.headers, "path": words, "query": dict(urllib.parse.parse_qsl(case.query, True))}
        for parameter in parameters:
            value = given[parameter["in"]].get(parameter["name"])
            if value is None:
                self.assertFalse(parameter.get("required"), f"{case.operation}: {parameter['name']}")
                continue
            schema = parameter["schema"]
            value = int(value) if schema.get("type") == "integer" else value
            self.assertEqual(self.document.problems(value, schema, parameter["name"]), [], case.operation)
        known = {parameter["name"] for parameter in parameters} | {"Content-Type", "Content-Encoding"}
        self.assertEqual((set(case.headers) | set(given["query"])) - known, set(), case.operation)
        if isinstance(case.body, dict):
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            self.assertEqual(self.document.problems(case.body, schema), [], case.operation)

    def path_of(self, name, words=(), query=""):
        template = self.operations[name][0]
        words = iter(words)
        path = re.sub(r"\{\w+\}", lambda match: next(words, "abcd"), template)
        return path + ("?" + query if query else "")

    def run_case(self, case):
        path, method = self.path_of(case.operation, case.words, case.query), self.operations[case.operation][1]
        if case.status < 400:
            self.check_request(case)
        reply = self.server.request(method, path, case.body, headers=case.headers, key="all:key")
        self.assertEqual(reply.status, case.status, f"{case.operation} {reply}")
        self.check_reply(case.operation, reply)
        if method == "GET":
            head = self.server.request("HEAD", path, headers=case.headers, key="all:key")
            self.assertEqual(head.status, case.status, f"{case.operation} {head}")
            self.check_reply(case.operation, head, is_head=True)
            for header in ("ETag", "Content-Type"):
                self.assertEqual(head.headers[header], reply.headers[header], case.operation)

    # --- all of them ---

    def cases(self):
        """In an order in which they work: uploads come first."""
        build_id, file_id = self.build_id, self.file_id
        part = {"FileID": file_id, "FilePart": "0", "FileParts": "1"}
        for name, body in (("symbols-ranges", self.parts["symbfile"]), ("symbols-returnpads", self.parts["returnpads"])):
            yield Case(name, 200, body=body, headers=part)
            yield Case(name, 200, body=body, headers={**part, "BuildID": build_id, "Generation": "one"})
            yield Case(name, 400, body=body, headers={**part, "FilePart": "1"})
            yield Case(name, 400, body=b"no symbfile", headers=part)
        yield Case("file-put", 201, [build_id], body=self.binary)
        yield Case("file-put", 200, [file_id], body=self.binary)
        yield Case("file-put", 201, [build_id], query="name=a.debug", body=self.debug)
        yield Case("file-put", 400, [UNKNOWN], body=self.binary)
        yield Case("source-put", 201, [build_id, "src/a.c"], body=b"int x;")
        yield Case("source-put", 400, ["x", "src/a.c"], body=b"int x;")
        yield Case("have", 200, body={"files": [{"build_id": build_id}, {"file_id": "00" * 16, "sha256": "00" * 32}]})
        pushed = {"file_id": "00" * 16, "ranges": {"generation": "g", "parts": 2}, "symbols": {"functions": 1}}
        yield Case("have", 200, body={"files": [pushed]})
        yield Case("have", 400, body={"files": [{}]})
        yield from self.questions()
        yield from self.mozilla()
        yield from self.contents()
        yield from self.pyroscope()
        yield from self.reports()
        for name in ("healthz", "live", "ready", "metrics", "openapi"):
            yield Case(name, 200)

    def questions(self):
        question = {"file_id": self.file_id, "addresses": [self.address, "0x1"]}
        other = {"build_id": UNKNOWN, "addresses": ["0x1"], "kind": "file_offset", "return_addresses": True}
        for body in (question, {**question, "compact": True}, {"files": [question, other]},
                     {"files": [question, other], "compact": True}, {"files": []}):  # fmt: skip
            yield Case("symbolize", 200, body=body)
        yield Case("symbolize", 404, body=other)
        yield Case("symbolize", 400, body={**question, "addresses": ["x"]})
        text = f"#0 0x1 (/bin/a+{self.address}) (BuildId: {self.build_id})\n{self.address}\n#1 0x1 (/b+0x1)\n".encode()
        yield Case("symbolize-text", 200, body=text)
        yield Case("symbolize-text", 200, query=f"file={self.file_id}&return_addresses=true", body=text)
        yield Case("symbolize-text", 404, query="file=" + UNKNOWN, body=text)
        yield Case("symbolize-text", 400, query="file=x", body=text)
        message = otlp.Message()
        protobuf = {"Content-Type": "application/x-protobuf"}
        yield Case("otlp-profiles", 200, body=otlp.encode(message), headers=protobuf)
        text = otlp.encode_json(message)
        yield Case("otlp-profiles", 200, body=text, headers={"Content-Type": "application/json"})
        yield Case("otlp-profiles", 400, body=b"\xff", headers=protobuf)

    def contents(self):
        build_id = self.build_id
        yield Case("files", 200)
        yield Case("files", 200, query="search=a&limit=5&after=")
        yield Case("files", 400, query="limit=5abc")
        yield Case("file", 200, [self.file_id])
        yield Case("file", 404, [UNKNOWN])
        yield Case("file", 400, ["x"])
        ranged = [("file-content", (build_id, word)) for word in ("lidia", "symbfile", "returnpads")]
        ranged += [("debuginfo", (build_id,)), ("executable", (build_id,)), ("source", (build_id, "src/a.c")),
                   ("section", (build_id, ".text"))]
        for name, words in ranged:
            path = self.path_of(name, words)
            tag = self.server.get(path, key="all:key").headers["ETag"]
            yield Case(name, 200, words)
            yield Case(name, 206, words, headers={"Range": "bytes=1-2"})
            yield Case(name, 304, words, headers={"If-None-Match": tag})
            yield Case(name, 416, words, headers={"Range": "bytes=99999999-"})
            yield Case(name, 404, (UNKNOWN, *words[1:]))
            yield Case(name, 400, ("x", *words[1:]))
        yield Case("file-content", 404, (build_id, "other"))
        yield Case("section", 404, (build_id, ".nothing"))
        yield Case("section", 400, ("x", ".text"))
        yield Case("metadata", 200, query="key=buildid&value=" + build_id)
        yield Case("metadata", 400, query="key=what&value=x")

    def reports(self):
        yield Case("report-put", 201, ["ci/a.size"], body=self.sizes)
        yield Case("report-put", 200, ["ci/a.size"], body=self.sizes)
        yield Case("report-put", 201, ["other"], body=self.sizes)
        yield Case("report-put", 400, ["ci//a"], body=self.sizes)
        yield Case("report-put", 400, ["other"], body=b"not a report")
        yield Case("reports", 200)
        yield Case("reports", 200, query="search=A&limit=1&after=ci")
        yield Case("reports", 400, query="limit=0")
        for name in ("report", "report-page") if PAGES else ("report",):
            tag = self.server.get(self.path_of(name, ["ci/a.size"]), key="all:key").headers["ETag"]
            yield Case(name, 200, ["ci/a.size"])
            yield Case(name, 206, ["ci/a.size"], headers={"Range": "bytes=1-2"})
            yield Case(name, 304, ["ci/a.size"], headers={"If-None-Match": tag})
            yield Case(name, 416, ["ci/a.size"], headers={"Range": "bytes=99999999-"})
            yield Case(name, 404, ["ci"])
            yield Case(name, 400, ["%2e"])
        if PAGES:
            yield Case("report-page", 200, ["other"], query="before=ci/a.size")
            yield Case("home", 200)
        yield Case("report-delete", 200, ["other"])
        yield Case("report-delete", 404, ["other"])
        yield Case("report-delete", 400, ["a%20b"])
        yield Case("login-form", 200, query="next=/reports/ci/a.size")
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        yield Case("login", 303, body=b"key=all%3Akey&next=%2Freports%2Fx", headers=form)
        yield Case("login", 401, body=b"key=all%3Aother", headers=form)
        yield Case("login", 403, body=b"key=all%3Akey", headers={**form, "Origin": "https://elsewhere.example"})
        yield Case("logout", 303)
        yield Case("reports-home", 303)

    def mozilla(self):
        job = {"memoryMap": [["a", self.build_id], ["b", "0" * 33], ["c", ""]],
               "stacks": [[[0, int(self.address, 16)], [0, 1], [1, 1], [-1, -1]], []]}  # fmt: skip
        for body in (job, {"jobs": [job, job]}, {"jobs": []}):
            yield Case("symbolicate", 200, body=body)
        yield Case("symbolicate", 400, body={**job, "stacks": [[[3, 1]]]})
        source = {"debugName": "a", "debugId": self.build_id, "moduleOffset": self.address, "file": str(self.place / "a.c")}
        yield Case("source-code", 404, body=source)
        yield Case("source-put", 201, [self.build_id, str(self.place / "a.c")[1:]], body=b"int x;")
        yield Case("source-code", 200, body=source)
        yield Case("source-code", 400, body={**source, "moduleOffset": "1"})
        code = {"codeId": self.build_id, "debugId": None, "startAddress": self.address, "size": "0x4"}
        yield Case("assembly", 200, body=code)
        yield Case("assembly", 200, body={**code, "name": "a", "continueUntilFunctionEnd": True})
        yield Case("assembly", 404, body={**code, "codeId": UNKNOWN})
        yield Case("assembly", 400, body={**code, "size": "4"})

    def pyroscope(self):
        kind = {"Content-Type": "application/json", "Connect-Protocol-Version": "1"}
        protobuf = {"Content-Type": "application/proto"}
        names = ["pyroscope-" + name for name in ("should-upload", "upload", "finished", "list", "delete")]
        should, upload, finished, list_, delete = names
        id_ = {"gnuBuildId": self.build_id}
        yield Case(list_, 200, body={}, headers=kind)
        yield Case(list_, 200, body=b"", headers=protobuf)
        yield Case(upload, 412, [UNKNOWN], body=self.binary)
        yield Case(finished, 404, body={"gnuBuildId": UNKNOWN}, headers=kind)
        yield Case(should, 200, body={"file": id_}, headers=kind)
        yield Case(delete, 200, body=id_, headers=kind)
        yield Case(should, 200, body={"file": {**id_, "name": "a", "type": "TYPE_EXECUTABLE_FULL"}}, headers=kind)
        yield Case(finished, 400, body=id_, headers=kind)
        yield Case(upload, 200, [self.build_id], body=self.binary)
        yield Case(finished, 200, body=connect.field(1, self.build_id), headers=protobuf)
        yield Case(upload, 400, ["x"], body=self.binary)
        yield Case(should, 400, body={"file": {}}, headers=kind)
        yield Case(list_, 400, body={}, headers={**kind, "Connect-Protocol-Version": "2"})
        yield Case(delete, 400, body={"gnuBuildId": "x"}, headers=kind)

    def check_refusals(self, name):
        """What every operation of its kind refuses."""
        path, method, operation, _ = self.operations[name]
        path = self.path_of(name)
        if operation["x-scope"] != "none":
            other = "uploader:key" if operation["x-scope"] == "read" else "reader:key"
            for key, status in ((None, 401), ("all:other", 401), (other, 403)):
                reply = self.server.request(method, path, headers={"Content-Length": "0"}, key=key)
                self.assertEqual(reply.status, status, f"{name} {reply}")
                self.check_reply(name, reply)
        if "requestBody" not in operation:
            return
        # Without the body that they announce: it is refused before it is sent.
        refusals = [("Content-Length: %d" % (LIMIT + 1), 413), ("Content-Length: 5\r\nContent-Encoding: br", 415)]
        if "411" in operation["responses"]:
            refusals.append(("Transfer-Encoding: chunked", 411))
        for headers, status in refusals:
            reply = self.raw(method, path, headers)
            self.assertEqual(reply.status, status, f"{name} {reply.status}")
            self.check_reply(name, reply)

    def raw(self, method, path, headers):
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer all:key\r\n{headers}\r\n\r\n"
        with self.server.open_socket() as connection:
            connection.sendall(head.encode())
            data = read_reply(connection)
        lines, _, body = data.partition(b"\r\n\r\n")
        found = dict(line.split(": ", 1) for line in lines.decode().split("\r\n")[1:])
        return type(self).Raw(status_of(data), found, body)

    class Raw:
        def __init__(self, status, headers, body):
            self.status, self.headers, self.body = status, headers, body
            self.json = json.loads(body)

    def check_ready(self):
        """A server whose store is gone is not ready."""
        shutil.rmtree(self.store)
        self.store.write_text("not a folder")
        reply = self.server.get(self.path_of("ready"))
        self.assertEqual(reply.status, 503, reply)
        self.check_reply("ready", reply)

    def test_every_operation_behaves_as_described(self):
        for case in self.cases():
            self.run_case(case)
        for name in self.operations:
            self.check_refusals(name)
        self.check_ready()
        described = {
            (name, status)
            for name, (_, _, operation, _) in self.operations.items()
            for status in operation["responses"]
            if status != "default" and (PAGES or name not in ("home", "report-page"))
        }
        self.assertEqual(sorted(described - self.seen), [], "described, and not tried")

    def test_other_methods_are_refused(self):
        for path in self.document.tree["paths"]:
            methods = {method.upper() for method in self.document.tree["paths"][path]} - {"PARAMETERS"}
            real = re.sub(r"\{\w+\}", "abcd", path)
            allowed = None
            for method in ("GET", "POST", "PUT", "DELETE", "PATCH"):
                if method in methods:
                    continue
                reply = self.server.request(method, real, key="all:key")
                # A path with words may be another one too, such as …/{content} and …/source/{path}.
                self.assertEqual(reply.status, 405, f"{method} {path} {reply}")
                allowed = set(reply.headers["Allow"].split(", ")) - {"HEAD", "OPTIONS"}
                self.assertEqual(self.document.problems(reply.json, {"$ref": "#/components/schemas/Failure"}), [])
            self.assertEqual(allowed, methods, path)
        reply = self.server.get("/other")
        self.assertEqual((reply.status, reply.code), (404, "3000"))

    def test_the_document_is_whole(self):
        tree = self.document.tree
        self.assertEqual(json.loads((sextant.ROOT / "docs/openapi.json").read_text()), tree)
        names = [operation["operationId"] for _, _, operation, _ in self.document.operations()]
        self.assertEqual(len(names), len(set(names)))
        used = set(re.findall(r'"\$ref": "#/components/(\w+/\w+)"', json.dumps(tree)))
        kinds = ("parameters", "responses", "schemas")
        components = {f"{kind}/{name}" for kind in kinds for name in tree["components"][kind]}
        self.assertEqual(used, components)
        for path, _, operation, parameters in self.document.operations():
            words = {parameter["name"] for parameter in parameters if parameter["in"] == "path"}
            self.assertEqual(set(re.findall(r"\{(\w+)\}", path)), words, path)
            self.assertIn(operation["tags"][0], [tag["name"] for tag in tree["tags"]])

    def test_the_schemas_refuse_what_they_should(self):
        problems = self.document.problems
        failure = {"$ref": "#/components/schemas/Failure"}
        good = self.server.get("/other").json
        self.assertEqual(problems(good, failure), [])
        for wrong in ({**good, "uuid": "x"}, {**good, "more": 1}, {**good, "success": 0}, {**good, "status": "404"}, [],
                      {**good, "error": {"Code": "4", "Text": ""}}, {"success": False}):  # fmt: skip
            self.assertNotEqual(problems(wrong, failure), [], wrong)


if __name__ == "__main__":
    tap.main()
