"""`sextant serve` with a store in a bucket: several servers share it, one is killed, and a proxy breaks answers."""

import base64
import concurrent.futures
import http.client
import os
import shutil
import tempfile
import time

from support import s3_server, sextant, tap
from support.service import Server
from test_serve_upload import ranges


class BucketTest(sextant.ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.place = tempfile.mkdtemp(prefix="sextant-s3-")
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        cls.bucket = s3_server.Rclone(os.path.join(cls.place, "root"))
        cls.addClassCleanup(cls.bucket.close)

    def setUp(self):
        super().setUp()
        self.store = f"s3://bucket/{self.id().rsplit('.', 1)[1]}"
        self.servers = 0

    def stop(self, server):
        if server.process.returncode is None:
            server.stop()

    def serve(self, *options, url=None):
        self.servers += 1
        server = Server(self.store, "--cache", self.folder / f"cache-{self.servers}", *options,
                        env=s3_server.environment(url or self.bucket.url))
        self.addCleanup(self.stop, server)
        return server

    def proxy(self, fault):
        proxy = s3_server.FaultyProxy(self.bucket.port, fault)
        self.addCleanup(proxy.close)
        return proxy

    @staticmethod
    def file_id(number):
        return f"{number:032x}"

    def upload(self, server, part, parts, number=1, version="v", generation=None):
        """Part PART has one function, whose name has VERSION in it."""
        spelled = base64.urlsafe_b64encode(bytes.fromhex(self.file_id(number))).decode().rstrip("=")
        headers = {"FileID": spelled, "FilePart": str(part), "FileParts": str(parts)}
        if generation:
            headers["Generation"] = generation
        return server.post("/api/symbols-ranges", ranges((0x1000 + 16 * part, 16, f"{version}{part}")), headers=headers)

    def assert_stored(self, reply):
        self.assertEqual(reply.status, 200, reply)

    def names(self, server, parts, number=1):
        """The function at each part's address."""
        question = {"file_id": self.file_id(number), "addresses": [hex(0x1000 + 16 * part) for part in range(parts)]}
        reply = server.post("/api/symbolize", question)
        if reply.status == 404:
            return None
        self.assertEqual(reply.status, 200, reply)
        return [chain[0]["function"] if chain else None for chain in reply.json["frames"]]

    def wait_for_names(self, server, expected, parts, number=1):
        """A listing is believed for a moment, so an answer may take one."""
        deadline = time.monotonic() + 60
        while self.names(server, parts, number) != expected and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(self.names(server, parts, number), expected)


class SharedBucket(BucketTest):
    def test_servers_share_a_bucket_and_one_is_killed(self):
        first, second = self.serve(), self.serve()
        for part in range(3):
            self.assert_stored(self.upload((first, second)[part % 2], part, 6))
        self.assertIsNone(self.names(second, 6))
        first.kill()
        self.assertIsNone(self.names(second, 6))
        for part in range(3, 6):
            self.assert_stored(self.upload(second, part, 6))
        expected = [f"v{part}" for part in range(6)]
        self.wait_for_names(second, expected, 6)
        third = self.serve()
        self.assertEqual(self.names(third, 6), expected)
        # A better set takes over, also on the server that answered before.
        for part in range(2):
            self.assert_stored(self.upload(third, part, 2, version="w"))
        self.wait_for_names(third, ["w0", "w1"], 2)
        self.wait_for_names(second, ["w0", "w1"], 2)

    def test_the_last_parts_arrive_at_the_same_moment(self):
        servers = self.serve(), self.serve()
        for number in range(6 if sextant.EVERYTHING else 3):
            self.assert_stored(self.upload(servers[0], 0, 3, number))
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                replies = list(pool.map(lambda part: self.upload(servers[part % 2], part, 3, number), (1, 2)))
            for reply in replies:
                self.assert_stored(reply)
            for server in servers:
                self.wait_for_names(server, ["v0", "v1", "v2"], 3, number)

    def test_what_was_acknowledged_is_there_after_the_server_was_killed(self):
        acknowledged = {}
        for number in range(8 if sextant.EVERYTHING else 3):
            server = self.serve()

            def push(part, number=number, server=server):
                try:
                    return self.upload(server, part, 4, number).status == 200
                except (OSError, http.client.HTTPException):
                    return False

            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                futures = [pool.submit(push, part) for part in range(4)]
                time.sleep(0.01 * number * 3)
                server.kill()
                acknowledged[number] = [future.result() for future in futures]
        server = self.serve()
        for number, parts in acknowledged.items():
            if all(parts):
                self.wait_for_names(server, [f"v{part}" for part in range(4)], 4, number)
            # The client sends the others again, and nothing has to be repaired.
            for part, done in enumerate(parts):
                if not done:
                    self.assert_stored(self.upload(server, part, 4, number))
            self.wait_for_names(server, [f"v{part}" for part in range(4)], 4, number)


class Faults(BucketTest):
    def test_errors_and_cut_answers_between_server_and_bucket_are_survived(self):
        faults = {3: ("status", 503), 5: ("cut", 20), 8: ("refuse",), 12: ("status", 500), 14: ("late",), 17: ("cut", 0),
                  21: ("slow", 5), 25: ("late",), 30: ("status", 429)}
        proxy = self.proxy(lambda number, request: faults.get(number))
        server = self.serve(url=proxy.url)
        for part in range(3):
            self.assert_stored(self.upload(server, part, 3))
        self.wait_for_names(server, ["v0", "v1", "v2"], 3)
        self.assertGreater(len(proxy.requests), 15)

    def test_a_bucket_that_is_gone_is_reported_and_comes_back(self):
        broken = []
        proxy = self.proxy(lambda number, request: ("status", 503) if broken else None)
        server = self.serve(url=proxy.url)
        self.assert_stored(self.upload(server, 0, 2))
        self.assertEqual(server.get("/ready").status, 200)
        broken.append(True)
        reply = self.upload(server, 1, 2)
        self.assertIn(reply.status, (500, 502, 503, 507), reply)
        self.assertFalse(reply.json["success"])
        deadline = time.monotonic() + 60
        while server.get("/ready").status == 200 and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(server.get("/ready").status, 503)
        self.assertEqual(server.get("/live").status, 200)
        broken.clear()
        self.assert_stored(self.upload(server, 1, 2))
        self.wait_for_names(server, ["v0", "v1"], 2)


if __name__ == "__main__":
    tap.main()
