"""The memory of a symbol service with many large archives: bench/service_memory.py [BUILD [GIGABYTES [FOLDER]]]

Makes a store with GIGABYTES (10) of archives, which takes about twice that on disk and some minutes, by uploading one
symbfile under many FileIDs. It is kept and used again if FOLDER is given. Then many clients ask random addresses of all
archives, of the server that received them and of a new one. What counts is the memory beyond the page cache: RssAnon and
RssShmem of the process. RssFile is what it has mapped of the archives, which is page cache.
"""

import concurrent.futures
import contextlib
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "cli"))
from support.service import Server  # noqa: E402
from test_serve_upload import HEADER, message, number, text  # noqa: E402

FUNCTIONS = 1_500_000  # of an archive
STEP = 32
TARGET = 300  # MB
CLIENTS, CONNECTIONS, SECONDS, ROUNDS = 8, 16, 2, 5
WAIT = 1200  # seconds, for a merge on a busy machine


def name_of(index):
    return f"benchmark::module_{index % 97:02}::component_{index:07}::process(std::vector<int> const&, unsigned long)"


def make_symbfile(path):
    """Functions at addresses that grow, each with a name of its own."""
    if path.exists():
        return path
    with open(path, "wb") as out:
        out.write(HEADER)
        for index in range(FUNCTIONS):
            out.write(message(2, number(12, index * STEP) + number(2, STEP) + text(3, name_of(index))))
    return path


def file_id(index):
    return f"{index + 1:032x}"


def memory(server):
    """MB by kind."""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
    kinds = dict(line.split(":", 1) for line in status.splitlines())
    return {kind: int(kinds[kind].split()[0]) / 1024 for kind in ("RssAnon", "RssFile", "RssShmem")}


def upload(server, body, index):
    """The size of an archive, which is uploaded if it is not there."""
    connection = server.connect(timeout=WAIT)
    path = f"/api/v1/files/{file_id(index)}/lidia"
    if server.request("HEAD", path, connection=connection).status == 404:
        headers = {"FileID": file_id(index), "FilePart": "0", "FileParts": "1"}
        reply = server.post("/api/symbols-ranges", body, headers=headers, connection=connection)
        assert reply.status == 200, reply
    size = int(server.request("HEAD", path, connection=connection).headers["Content-Length"])
    connection.close()
    return size


def fill(server, symbfile, size):
    """Uploads until the archives have SIZE bytes; how many there are, and their size."""
    body, count, total = symbfile.read_bytes(), 0, 0
    while total < size:
        total += upload(server, body, count)
        count += 1
    return count, total


def question(chance, count):
    """1,000 addresses, spread over all archives."""
    files = [{"file_id": file_id(index), "addresses": []} for index in range(count)]
    for _ in range(1000):
        chance.choice(files)["addresses"].append(hex(chance.randrange(FUNCTIONS * STEP)))
    return {"files": files}


def check(server, chance, count):
    asked = question(chance, count)
    answers = server.post("/api/symbolize", asked).json["files"]
    for file, answer in zip(asked["files"], answers):
        for address, frames in zip(file["addresses"], answer["frames"]):
            assert frames[0]["function"] == name_of(int(address, 16) // STEP), (address, frames)


def ask(build, server, folder, count):
    """The most memory while clients ask, and addresses a second."""
    chance, most, addresses = random.Random(1), {}, 0
    check(server, chance, count)
    start = time.perf_counter()
    for _ in range(ROUNDS):
        commands = []
        for client in range(CLIENTS):
            body = folder / f"question-{client}"
            body.write_text(json.dumps(question(chance, count)))
            commands.append([build / "bench" / "service_load", str(server.port), str(CONNECTIONS), str(SECONDS), "0", "POST",
                             "/api/symbolize", body])  # fmt: skip
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            running = [pool.submit(subprocess.run, command, check=True, capture_output=True) for command in commands]
            while not all(one.done() for one in running):
                for kind, size in memory(server).items():
                    most[kind] = max(most.get(kind, 0), size)
                concurrent.futures.wait(running, timeout=0.1)
        for one in running:
            figures = json.loads(one.result().stdout)
            assert figures["failures"] == 0, figures
            addresses += figures["requests"] * 1000
    return most, addresses / (time.perf_counter() - start)


def show(title, most, speed):
    beyond = most["RssAnon"] + most["RssShmem"]
    print(f"{title:32} {beyond:6.0f} MB beyond the page cache (target {TARGET}), {most['RssFile']:6.0f} MB of archives"
          f" mapped, {speed / 1e6:.2f} M addresses/s", flush=True)
    return beyond < TARGET


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
    size = float(sys.argv[2] if len(sys.argv) > 2 else 10) * 1e9
    given = contextlib.nullcontext(sys.argv[3]) if len(sys.argv) > 3 else tempfile.TemporaryDirectory()
    with given as name:
        folder = pathlib.Path(name)
        store, symbfile = folder / "store", make_symbfile(folder / "x.symbfile")
        with Server(store, program=build / "sextant") as server:
            count, total = fill(server, symbfile, size)
            after = memory(server)["RssAnon"]
            print(f"{count} archives, {total / 1e9:.1f} GB; after the uploads: {after:.0f} MB", flush=True)
            fine = show("the server that received them", *ask(build, server, folder, count))
        with Server(store, program=build / "sextant") as server:
            fine &= show("a new server", *ask(build, server, folder, count))
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
