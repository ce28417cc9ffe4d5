"""`sextant store`: lists, checks, cleans up and removes what a symbol service keeps."""

import os
import time

from support import sextant, tap
from support.service import Server

PROGRAM = "/bin/true"
HOURS = 3600


class StoreTest(sextant.ProgramTest):
    def setUp(self):
        super().setUp()
        self.store = self.folder / "store"
        identity = sextant.run("fileid", "--json", PROGRAM).json_lines()[0]
        self.file_id = identity["hex"]
        self.part = self.folder / "true.symbfile"
        sextant.run("archive", PROGRAM, "-o", self.part)

    def push(self, *options, part=0, parts=1, key=None, keys=None, headers=()):
        with Server(self.store, *(["--api-key-file", keys] if keys else []), *options) as server:
            fields = {"FileID": self.file_id, "FilePart": str(part), "FileParts": str(parts), **dict(headers)}
            reply = server.post("/api/symbols-ranges", self.part.read_bytes(), headers=fields, key=key)
            self.assertEqual(reply.status, 200, reply)

    def list(self, *arguments):
        return self.run_ok("store", "list", "--json", "--store", self.store, *arguments).json_lines()

    def objects(self, folder="."):
        return sorted(path for path in (self.store / folder).rglob("*") if path.is_file())

    def age(self, seconds):
        """Makes all objects older."""
        then = time.time() - seconds
        for path in self.objects():
            os.utime(path, (then, then))


class Listing(StoreTest):
    def test_lists_what_is_there(self):
        self.push(headers={"BuildID": "c0ffee00"})
        (listed,) = self.list()
        self.assertEqual(listed["file_id"], self.file_id)
        self.assertEqual(listed["build_id"] is not None, True)
        self.assertEqual(listed["source"], "ranges")
        self.assertEqual(listed["name"], "true")
        self.assertIsNone(listed["tenant"])
        self.assertTrue(listed["quality"]["symtab"])
        self.assertGreater(listed["functions"], 0)
        self.assertGreater(listed["size"], 0)
        self.assertRegex(listed["created"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        text = self.run_ok("store", "list", "--store", self.store).text
        self.assertEqual(len(text.splitlines()), 1)
        self.assertIn("true", text)

    def test_selects_by_name_and_id(self):
        self.push()
        self.assertEqual(len(self.list("tru")), 1)
        self.assertEqual(len(self.list(self.file_id[:6].upper())), 1)
        self.assertEqual(self.list("zzz"), [])

    def test_shows_uploads_that_are_not_complete(self):
        self.push(part=1, parts=3)
        (listed,) = self.list()
        self.assertEqual(listed["incomplete"], {"parts": 1, "of": 3})
        self.assertIsNone(listed["source"])
        self.assertIn("not complete", listed["missing"])
        self.assertIn("1 of 3 parts", self.run_ok("store", "list", "--store", self.store).text)

    def test_lists_all_tenants_or_one(self):
        keys = self.file("keys", "a:one\nb:two::red\n")
        self.push(keys=keys, key="a:one")
        self.push(keys=keys, key="b:two")
        self.assertEqual([listed["tenant"] for listed in self.list()], [None, "red"])
        self.assertEqual([listed["tenant"] for listed in self.list("--tenant", "red")], ["red"])
        self.assertEqual([listed["tenant"] for listed in self.list("--tenant", "")], [None])
        self.assertEqual(self.list("--tenant", "blue"), [])

    def test_an_empty_store_has_nothing(self):
        self.store.mkdir()
        self.assertEqual(self.list(), [])
        self.assertIn("0 problems", self.run_ok("store", "verify", "--store", self.store).text)


class Removing(StoreTest):
    def test_removes_a_binary_by_either_id(self):
        self.push(headers={"BuildID": "c0ffee00"})
        self.run_ok("store", "rm", "--dry-run", "--store", self.store, "c0ffee00")
        self.assertEqual(len(self.list()), 1)
        self.run_ok("store", "rm", "--store", self.store, "c0ffee00")
        self.assertEqual(self.list(), [])
        self.assertEqual(self.objects("t"), [])
        self.run_error("store", "rm", "--store", self.store, self.file_id, naming=self.file_id)

    def test_removes_nothing_of_another_tenant(self):
        keys = self.file("keys", "a:one\nb:two::red\n")
        self.push(keys=keys, key="b:two")
        self.run_error("store", "rm", "--store", self.store, self.file_id)
        (removed,) = self.run_ok(
            "store", "rm", "--json", "--tenant", "red", "--store", self.store, self.file_id
        ).json_lines()
        self.assertEqual(removed, {"id": self.file_id, "removed": True})
        self.assertEqual(self.list(), [])

    def test_collects_blobs_an_hour_later(self):
        self.push()
        self.run_ok("store", "rm", "--store", self.store, self.file_id)
        blobs = self.objects("blob")
        self.assertGreater(len(blobs), 0)
        self.run_ok("store", "gc", "--store", self.store)
        self.assertEqual(self.objects("blob"), blobs)
        size = sum(path.stat().st_size for path in blobs)
        self.age(2 * HOURS)
        (dry,) = self.run_ok("store", "gc", "--dry-run", "--json", "--store", self.store).json_lines()
        self.assertEqual(dry, {"objects": len(blobs), "bytes": size, "removed": False})
        self.assertEqual(self.objects("blob"), blobs)
        (done,) = self.run_ok("store", "gc", "--json", "--store", self.store).json_lines()
        self.assertEqual(done, {"objects": len(blobs), "bytes": size, "removed": True})
        self.assertEqual(self.objects("blob"), [])

    def test_keeps_what_is_used(self):
        self.push()
        self.push()
        self.age(2 * HOURS)
        self.run_ok("store", "gc", "--store", self.store)
        self.assertEqual(len(self.objects("t")), 1)
        self.assertEqual(len(self.list()), 1)
        self.assertIn("0 problems", self.run_ok("store", "verify", "--store", self.store).text)

    def test_removes_incomplete_uploads_and_old_symbols(self):
        self.push(part=0, parts=2)
        self.run_ok("store", "gc", "--store", self.store)
        self.assertEqual(len(self.objects("t")), 1)
        time.sleep(1.1)
        self.run_ok("store", "gc", "--stale", "1s", "--store", self.store)
        self.assertEqual(self.objects("t"), [])
        self.push()
        self.run_ok("store", "gc", "--retention", "1d", "--store", self.store)
        self.assertEqual(len(self.list()), 1)
        time.sleep(1.1)
        self.run_ok("store", "gc", "--retention", "1s", "--store", self.store)
        self.assertEqual(self.list(), [])


class Checking(StoreTest):
    def verify(self):
        result = sextant.run("store", "verify", "--json", "--store", self.store)
        self.assert_no_crash(result)
        self.assertEqual(result.err, "")
        problems = result.json_lines()
        self.assertEqual(result.status, 1 if problems else 0, result)
        return problems

    def test_a_good_store_has_no_problems(self):
        self.push(headers={"BuildID": "c0ffee00"})
        self.push(part=0, parts=2)
        self.assertEqual(self.verify(), [])

    def test_finds_changed_content(self):
        self.push()
        for path in self.objects():
            content = path.read_bytes()
            path.chmod(0o600)
            path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
            problems = self.verify()
            self.assertTrue(any(str(path.relative_to(self.store)) == problem["object"] for problem in problems), path)
            path.write_bytes(content)
        self.assertEqual(self.verify(), [])

    def test_finds_what_is_missing(self):
        self.push()
        (entry,) = self.objects("t")
        for path in self.objects("blob"):
            content = path.read_bytes()
            path.unlink()
            problems = self.verify()
            self.assertEqual([problem["object"] for problem in problems], [str(entry.relative_to(self.store))])
            self.assertIn(path.name, problems[0]["message"])
            path.write_bytes(content)

    def test_finds_names_that_mean_nothing(self):
        self.push()
        strange = self.store / "t" / "-" / "id" / f"f.{self.file_id}" / "symbols" / "what"
        strange.write_bytes(b"")
        self.assertEqual([problem["object"] for problem in self.verify()], [str(strange.relative_to(self.store))])


class Usage(StoreTest):
    def test_refuses_wrong_words(self):
        self.store.mkdir()
        for words in (
            [],
            ["list"],
            ["--store", self.store],
            ["shrink", "--store", self.store],
            ["rm", "--store", self.store],
            ["rm", "--store", self.store, "xyz"],
            ["rm", "--store", self.store, "../../etc/passwd"],
            ["gc", "--store", self.store, "word"],
            ["gc", "--store", self.store, "--tenant", "a"],
            ["gc", "--store", self.store, "--retention", "soon"],
            ["gc", "--store", self.store, "--stale", "0"],
            ["list", "--store", self.store, "--dry-run"],
            ["verify", "--store", self.store, "--retention", "1d"],
        ):
            with self.subTest(words=words):
                self.run_usage("store", *words)

    def test_makes_no_store(self):
        self.run_error("store", "list", "--store", self.folder / "none", naming="none")
        self.assertFalse((self.folder / "none").exists())


if __name__ == "__main__":
    tap.main()
