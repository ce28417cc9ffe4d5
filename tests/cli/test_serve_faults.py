"""Servers that are killed, disks that are full or read-only, and buckets that fail, while several clients upload: what was
acknowledged is there, nothing else looks complete, and nothing has to be repaired."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import random
import resource
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

from support import s3_server, sextant, tap
from support.service import WAIT, Server, store_folder
from test_serve_upload import ranges

RANGES = "/api/symbols-ranges"
PARTS = 3
UPLOADS = 200 if sextant.EVERYTHING else 30  # sets; each has PARTS parts
KILLS = 40 if sextant.EVERYTHING else 6


def file_id(number):
    return f"{number:032x}"


def part_body(number, version, part):
    """Functions whose names say which set they are of; a part is large enough to be cut in its middle."""
    padding = "x" * (number * 37 % 900)
    return ranges(*((0x1000 * part + 16 * i, 16, f"{version}-{number}-{part}-{i}-{padding}") for i in range(40)))


class Client:
    """Uploads sets of parts, and knows which parts were acknowledged. It sends a part once."""

    def __init__(self, server):
        self.server = server  # a function: the server of the moment
        self.lock = threading.Lock()
        self.acknowledged = set()
        self.tried = set()
        self.refused = []

    def push(self, number, version, part):
        key = (number, version, part)
        with self.lock:
            self.tried.add(key)
        headers = {"FileID": file_id(number), "FilePart": str(part), "FileParts": str(PARTS), "Generation": version}
        try:
            reply = self.server().post(RANGES, part_body(*key), headers=headers)
        except (OSError, http.client.HTTPException):
            return False
        with self.lock:
            if reply.status == 200:
                self.acknowledged.add(key)
            else:
                self.refused.append((reply.status, reply.json["error"]["Code"]))
        return reply.status == 200

    def is_complete(self, number, version):
        return all((number, version, part) in self.acknowledged for part in range(PARTS))

    def may_be_complete(self, number, version):
        return all((number, version, part) in self.tried for part in range(PARTS))


class FaultTest(sextant.ProgramTest):
    """A server that can be killed and started again over one store."""

    def setUp(self):
        super().setUp()
        self.store, self.options, self.environment = store_folder(self), [], None
        self.server = None
        self.is_up = threading.Event()
        self.addCleanup(self.end)

    def start(self):
        self.server = Server(self.store, *self.options, env=self.environment)
        self.is_up.set()

    def kill(self):
        self.is_up.clear()
        self.server.kill()

    def current(self):
        """The server, when it runs."""
        self.is_up.wait(WAIT)
        return self.server

    def end(self):
        if self.server is not None and self.server.process.returncode is None:
            self.server.stop()

    def compile(self, functions):
        """An ELF file with FUNCTIONS functions, and its build ID."""
        sextant.need_tool("gcc")
        source, binary = self.folder / "a.c", self.folder / "a"
        text = "".join(f"int function_{i}(int x) {{ return x * {i}; }}\n" for i in range(functions))
        source.write_text(text + "int main(void) { return 0; }\n")
        sextant.tool("gcc", "-g", "-Wl,--build-id", "-o", binary, source)
        return binary, json.loads(sextant.run("info", "--json", binary).out)["build_id"]

    def answer(self, number):
        """The version that answers for a file: None if nothing does. It must be whole, and of one version."""
        addresses = [f"{0x1000 * part + 16 * i + 3:#x}" for part in range(PARTS) for i in (0, 20, 39)]
        reply = self.server.post("/api/symbolize", {"file_id": file_id(number), "addresses": addresses})
        if reply.status == 404:
            return None
        self.assertEqual(reply.status, 200, reply)
        names = [chain[0]["function"].split("-")[:4] if chain else None for chain in reply.json["frames"]]
        version = names[0][0] if names[0] else None
        expected = [[version, str(number), str(part), str(i)] for part in range(PARTS) for i in (0, 20, 39)]
        self.assertEqual(names, expected, f"file {number}")
        return version

    def wait_for_answer(self, number, version):
        """A listing is believed for a moment, and a merge that failed is tried again later."""
        deadline = time.monotonic() + 2 * WAIT
        while (found := self.answer(number)) != version and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(found, version, f"file {number}")

    def verify(self):
        result = sextant.run("store", "verify", "--store", self.store, env=self.environment)
        self.assertEqual(result.status, 0, result)

    def check_all(self, client, before=None):
        """Compares the answers with what was acknowledged, and sends the rest."""
        numbers = sorted({number for number, _, _ in client.tried})
        for number in numbers:
            if client.is_complete(number, "new"):
                self.wait_for_answer(number, "new")
            elif client.may_be_complete(number, "new"):
                self.assertIn(self.answer(number), ("new", before))
            else:
                self.assertEqual(self.answer(number), before, f"file {number}")
        for number in numbers:
            for part in range(PARTS):
                if (number, "new", part) not in client.acknowledged:
                    self.assertTrue(client.push(number, "new", part), client.refused[-1:])
        for number in numbers:
            self.wait_for_answer(number, "new")
        self.verify()

    def push_all(self, client, numbers, seed, skip=0):
        """Several clients push the parts of all files in a random order; of SKIP files the last part is not sent."""
        work = [(number, "new", part) for number in numbers for part in range(PARTS)
                if part < PARTS - 1 or number >= skip]
        random.Random(seed).shuffle(work)
        with concurrent.futures.ThreadPoolExecutor(6) as clients:
            yield from clients.map(lambda key: client.push(*key), work)


class Killed(FaultTest):
    def check_kills(self, uploads, kills, pause):
        """Kills the server again and again, at moments that depend on nothing but chance."""
        chance = random.Random(7)
        self.start()
        old = Client(self.current)
        for number in range(5):
            for part in range(PARTS):
                self.assertTrue(old.push(number, "old", part))
        client = Client(self.current)
        # Each kill comes after a number of uploads have been answered or lost, and a moment more.
        each = max(1, uploads * PARTS // (kills + 1))
        for count, _ in enumerate(self.push_all(client, range(uploads), 3, skip=5)):
            if count % each == each - 1:
                time.sleep(chance.random() * pause)
                self.kill()
                if chance.random() < 0.5:
                    time.sleep(0.01)
                self.start()
        self.kill()
        self.verify()
        self.start()
        for number in range(5):
            self.assertEqual(self.answer(number), "old")
        self.assertGreater(len(client.acknowledged), 0)
        self.check_all_but_old(client)

    def check_all_but_old(self, client):
        client.tried -= {key for key in client.tried if key[0] < 5}
        self.check_all(client)
        for number in range(5):
            for part in range(PARTS):
                client.push(number, "new", part)
            self.wait_for_answer(number, "new")

    def test_while_clients_upload(self):
        self.check_kills(UPLOADS, KILLS, 0.005)

    def test_while_clients_upload_to_a_bucket(self):
        self.use_bucket()
        self.check_kills(UPLOADS if sextant.EVERYTHING else 8, KILLS if sextant.EVERYTHING else 3, 0.02)

    def use_bucket(self):
        place = tempfile.mkdtemp(prefix="sextant-s3-")
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        bucket = s3_server.Rclone(os.path.join(place, "root"))
        self.addCleanup(bucket.close)
        self.store, self.options = "s3://bucket/store", ["--cache", self.folder / "cache"]
        self.environment = s3_server.environment(bucket.url)

    def test_while_a_binary_is_read(self):
        """The process that reads an ELF file ends with its server."""
        binary, build_id = self.compile(0)
        for moment in (0.002, 0.005, 0.01, 0.02, 0.04):
            self.start()
            pid = self.server.process.pid
            upload = threading.Thread(target=self.put_and_forget, args=(build_id, binary))
            upload.start()
            time.sleep(moment)
            workers = children(pid)
            self.kill()
            upload.join()
            for worker in workers:
                self.wait_for_end(worker)
        self.start()
        reply = self.server.put(f"/api/v1/files/{build_id}", binary.read_bytes())
        self.assertIn(reply.status, (200, 201), reply)
        self.verify()

    def put_and_forget(self, build_id, binary):
        with contextlib.suppress(OSError, http.client.HTTPException):
            self.server.put(f"/api/v1/files/{build_id}", binary.read_bytes())

    def wait_for_end(self, pid):
        deadline = time.monotonic() + WAIT
        while is_running(pid):
            self.assertLess(time.monotonic(), deadline, "a worker outlives its server")
            time.sleep(0.01)


def children(pid):
    try:
        tasks = list(pathlib.Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@contextlib.contextmanager
def file_size_limit(size):
    """Programs that are started meanwhile cannot write files above SIZE bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class DiskTest(FaultTest):
    SIZE = "16m"

    def setUp(self):
        super().setUp()
        self.disk = self.mount()
        self.store = self.disk / "store"

    def mount(self):
        """A small disk in memory."""
        place = self.folder / "disk"
        place.mkdir()
        if os.geteuid() != 0:
            raise unittest.SkipTest("only root can mount a small disk")
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.SIZE}", "tmpfs", place],
                              capture_output=True, check=False)
        if done.returncode != 0:
            raise unittest.SkipTest("a small disk cannot be mounted here")
        self.addCleanup(self.unmount, place)
        return place

    def unmount(self, place):
        self.end()
        subprocess.run(["umount", "-l", place], check=False)


class FullDisk(DiskTest):
    def fill(self, left):
        """Leaves LEFT bytes on the disk."""
        (self.disk / "ballast").unlink(missing_ok=True)
        free = os.statvfs(self.disk)
        with open(self.disk / "ballast", "wb") as ballast:
            ballast.write(bytes(max(0, free.f_bavail * free.f_frsize - left)))

    def test_keeps_what_was_acknowledged(self):
        self.start()
        old = Client(self.current)
        for number in range(5):
            for part in range(PARTS):
                self.assertTrue(old.push(number, "old", part))
        for left in (0, 40_000, 150_000, 400_000) if sextant.EVERYTHING else (0, 150_000):
            self.fill(left)
            client = Client(self.current)
            list(self.push_all(client, range(5, 30), left))
            self.assertGreater(len(client.refused), 0)
            self.assertEqual(set(client.refused), {(507, "1002")})
            for number in range(5):
                self.assertEqual(self.answer(number), "old")
            self.assertEqual(self.server.get("/healthz").status, 200)
            if left:  # it makes no difference that the server ends here
                self.kill()
                self.start()
                for number in range(5):
                    self.assertEqual(self.answer(number), "old")
            (self.disk / "ballast").unlink()
            self.check_all(client)
            for number in range(5, 30):
                self.assertEqual(sextant.run("store", "rm", "--store", self.store, file_id(number)).status, 0)

    def test_is_not_the_fault_of_a_file(self):
        """A full disk is not the fault of the file that is uploaded."""
        binary, build_id = self.compile(300)
        size = binary.stat().st_size
        self.start()
        for left in (0, 30_000, *range(size, size + 200_000, 8_000)):
            self.fill(left)
            reply = self.server.put(f"/api/v1/files/{build_id}", binary.read_bytes())
            if reply.status == 201:
                break
            self.assertEqual((reply.status, reply.code), (507, "1002"), (left, str(reply)))
        self.assertEqual(reply.status, 201)
        (self.disk / "ballast").unlink()
        reply = self.server.put(f"/api/v1/files/{build_id}", binary.read_bytes())
        self.assertIn(reply.status, (200, 201), reply)
        for what in ("lidia", "symbfile", "returnpads"):
            self.assertEqual(self.server.get(f"/api/v1/files/{build_id}/{what}").status, 200, what)
        self.verify()


class FullCache(DiskTest):
    def test_of_a_bucket_does_not_matter_for_questions(self):
        bucket = s3_server.Rclone(str(self.folder / "s3" / "root"))
        self.addCleanup(bucket.close)
        self.store, self.environment = "s3://bucket/store", s3_server.environment(bucket.url)
        self.options = ["--cache", self.disk / "cache"]
        self.start()
        client = Client(self.current)
        for part in range(PARTS):
            self.assertTrue(client.push(1, "new", part))
        for cache in ("cache", "another"):
            self.end()
            shutil.rmtree(self.disk / "cache", ignore_errors=True)
            FullDisk.fill(self, 0)
            self.options = ["--cache", self.disk / cache]
            self.start()
            self.assertEqual(self.answer(1), "new")
            self.assertFalse(client.push(2, "new", 0))
        self.assertEqual(set(client.refused), {(507, "1002")})


class FileSizeLimit(FaultTest):
    def test_is_an_error_like_a_full_disk(self):
        with file_size_limit(200_000):
            self.start()
        body = ranges(*((16 * i, 16, f"function_{i}_{'y' * 100}") for i in range(3000)))
        headers = {"FileID": file_id(1), "FilePart": "0", "FileParts": "1"}
        refused = self.server.post(RANGES, body, headers=headers)
        self.assertEqual((refused.status, refused.code), (507, "1002"), refused)
        client = Client(self.current)
        for part in range(PARTS):
            self.assertTrue(client.push(2, "new", part))
        self.wait_for_answer(2, "new")


    def test_of_what_is_read_from_a_file_is_a_failure_of_that_file(self):
        binary, build_id = self.compile(300)
        self.options = ["--inflate-limit", "10000"]
        self.start()
        refused = self.server.put(f"/api/v1/files/{build_id}", binary.read_bytes())
        self.assertEqual((refused.status, refused.code), (413, "4009"), refused)


class ReadOnly(DiskTest):
    def remount(self, how):
        done = subprocess.run(["mount", "-o", f"remount,{how}", self.disk], capture_output=True, check=False)
        if done.returncode != 0:
            raise unittest.SkipTest("a disk cannot be made read-only here")

    def test_stores_answer(self):
        self.start()
        client = Client(self.current)
        for number in range(3):
            for part in range(PARTS):
                self.assertTrue(client.push(number, "old", part))
        self.remount("ro")
        for _ in range(2):
            for number in range(3):
                self.assertEqual(self.answer(number), "old")
                self.assertFalse(client.push(number, "new", 0))
            self.assertIsNone(self.answer(4))
            self.assertEqual(self.server.get("/ready").status, 503)
            self.assertEqual(self.server.get("/live").status, 200)
            self.assertEqual(self.server.get("/api/v1/files").status, 200)
            self.end()
            self.start()
        self.assertEqual(set(client.refused), {(503, "1001")})
        self.remount("rw")
        self.check_all(client, before="old")
        deadline = time.monotonic() + WAIT
        while self.server.get("/ready").status != 200 and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(self.server.get("/ready").status, 200)


class FailingBucket(Killed):
    def use_proxy(self, fault):
        place = tempfile.mkdtemp(prefix="sextant-s3-")
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        bucket = s3_server.Rclone(os.path.join(place, "root"))
        self.addCleanup(bucket.close)
        proxy = s3_server.FaultyProxy(bucket.port, fault)
        self.addCleanup(proxy.close)
        self.store, self.options = "s3://bucket/store", ["--cache", self.folder / "cache"]
        self.environment = s3_server.environment(proxy.url)
        return proxy

    test_while_clients_upload = test_while_clients_upload_to_a_bucket = test_while_a_binary_is_read = None

    def test_faults_while_clients_upload(self):
        chance, broken = random.Random(11), []
        faults = (("status", 503), ("status", 500), ("refuse",), ("late",), ("cut", 0), ("cut", 30), ("status", 403),
                  ("slow", 3), ("garbage",))  # fmt: skip
        proxy = self.use_proxy(lambda number, request: chance.choice(faults) if broken and chance.random() < broken[0]
                               else None)
        self.start()
        client = Client(self.current)
        uploads = 40 if sextant.EVERYTHING else 5
        broken.append(0.3)
        list(self.push_all(client, range(uploads), 5, skip=2))
        broken.clear()
        self.assertLessEqual({status // 100 for status, _ in client.refused}, {5}, client.refused)
        self.assertLessEqual({code for _, code in client.refused}, {"1001"}, client.refused)
        self.assertGreater(len(proxy.requests), uploads)
        self.check_all(client)

    def test_a_bucket_that_may_not_be_written_answers(self):
        readonly = []
        proxy = self.use_proxy(lambda number, request: ("status", 403) if readonly and request.method != "GET"
                               and request.method != "HEAD" else None)
        self.start()
        client = Client(self.current)
        for part in range(PARTS):
            self.assertTrue(client.push(1, "old", part))
        self.wait_for_answer(1, "old")
        readonly.append(True)
        self.assertFalse(client.push(1, "new", 0))
        self.assertEqual(self.answer(1), "old")
        self.end()
        self.start()
        self.assertEqual(self.answer(1), "old")
        self.assertFalse(client.push(1, "new", 0))
        self.assertEqual(set(client.refused), {(503, "1001")})
        readonly.clear()
        self.check_all(client, before="old")
        self.assertGreater(len(proxy.requests), 10)


if __name__ == "__main__":
    tap.main()
