"""The symbol service on loopback, compared with a bare libmicrohttpd server that answers "hello" to the same client: one
address a request, 1,000 addresses a request, and the latency at half of the most requests. llvm-symbolizer, and eu-addr2line
with a debuginfod server, answer the same addresses."""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import service_peers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "cli"))
from support.service import Server  # noqa: E402

CONNECTIONS, SECONDS, ROUNDS = 32, 2, 3
FILE_ID = "0123456789abcdef" * 2


class Hello:
    """The bare server."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline())

    def stop(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def processor_time(process):
    words = pathlib.Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / 100


def load(program, server, rate, *request):
    """The best of several rounds, with the processor time of the server for a request."""
    rounds = []
    for _ in range(ROUNDS):
        before = processor_time(server.process)
        command = [program, str(server.port), str(CONNECTIONS), str(SECONDS), str(rate), *request]
        figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        figures["processor_us"] = (processor_time(server.process) - before) * 1e6 / figures["requests"]
        assert figures["failures"] == 0, figures
        rounds.append(figures)
    return min(rounds, key=lambda one: one["p99_us"]) if rate else max(rounds, key=lambda one: one["requests_per_second"])


def questions(sextant, folder):
    """Files with a question of one address and of 1,000, about the program itself; and its symbfile."""
    symbfile = folder / "x.symbfile"
    subprocess.run([sextant, "archive", "-q", sextant, "-f", "symbfile", "-o", symbfile], check=True)
    dump = subprocess.run([sextant, "dump", "--json", symbfile], check=True, capture_output=True, text=True).stdout
    ranges = [json.loads(line) for line in dump.splitlines()]
    chance = random.Random(1)
    addresses = [hex(int(one["va"], 16) + chance.randrange(one["length"])) for one in chance.choices(ranges, k=1000)]
    one, many = folder / "one.json", folder / "many.json"
    one.write_text(json.dumps({"file_id": FILE_ID, "addresses": addresses[:1]}))
    many.write_text(json.dumps({"file_id": FILE_ID, "addresses": addresses}))
    return symbfile, one, many, addresses


def measure(build):
    program = build / "bench" / "service_load"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        symbfile, one, many, addresses = questions(build / "sextant", folder)
        hello = Hello(build / "bench" / "service_hello")
        with Server(folder / "store", program=build / "sextant") as server:
            headers = {"FileID": FILE_ID, "FilePart": "0", "FileParts": "1"}
            assert server.post("/api/symbols-ranges", symbfile.read_bytes(), headers=headers).status == 200
            figures = {"hello": load(program, hello, 0, "GET", "/")}
            figures["one"] = load(program, server, 0, "POST", "/api/symbolize", one)
            figures["many"] = load(program, server, 0, "POST", "/api/symbolize", many)
            half = figures["one"]["requests_per_second"] // 2
            figures["half"] = load(program, server, half, "POST", "/api/symbolize", one)
        hello.stop()
        identity = subprocess.run([build / "sextant", "info", "--json", build / "sextant"], check=True, capture_output=True)
        figures["peers"] = service_peers.measure(build / "sextant", json.loads(identity.stdout)["build_id"], addresses)
    figures["load_average"] = os.getloadavg()[0]
    figures["part_of_hello"] = figures["one"]["requests_per_second"] / figures["hello"]["requests_per_second"]
    figures["addresses_per_second"] = figures["many"]["requests_per_second"] * 1000
    return figures


def show(figures):
    print(f"\nsymbol service, {CONNECTIONS} connections of one client on the same machine\n")
    for what, key in (('libmicrohttpd "hello"', "hello"), ("one address", "one"), ("1,000 addresses", "many")):
        one = figures[key]
        print(f"{what:34} {one['requests_per_second']:10.0f} requests/s {one['processor_us']:8.1f} us of the server each")
    print(f"{'one address, of hello':34} {figures['part_of_hello'] * 100:10.0f} %   target 40 %")
    print(f"{'addresses a second':34} {figures['addresses_per_second'] / 1e6:10.1f} M   target 2 M")
    print(f"{'p99 at half load':34} {figures['half']['p99_us'] / 1000:10.2f} ms  target under 20 ms")
    service_peers.show(figures["peers"], figures)
    print(f"{'load average':34} {figures['load_average']:10.1f}")


if __name__ == "__main__":
    show(measure(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()))
