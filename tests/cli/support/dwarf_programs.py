"""Builds programs with debug information, in every form that compilers, linkers and other tools give it.

A `Workshop` owns a folder. It compiles the programs in support/sources (C, C++, Fortran, D, Rust, Go) and changes the
form of the debug information afterwards: dwz, compression, packages of split DWARF, separate debug files. What is built
once is kept, so forms of one program share it. A tool that is missing skips the test, with its name as the reason.
"""

import concurrent.futures
import glob
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from . import sextant

SOURCES = pathlib.Path(__file__).resolve().parent / "sources"
COMPILERS = {("gcc", "c"): "gcc", ("gcc", "cpp"): "g++", ("clang", "c"): "clang", ("clang", "cpp"): "clang++",
             ("gcc", "fortran"): "gfortran", ("gcc", "d"): "gdc"}
SUFFIXES = {"c": (".c", ".S"), "cpp": (".cpp",), "fortran": (".f90",), "d": (".d",)}
TOOL_SECONDS = 60

shared = None  # the workshop of the test file that is running


def shared_workshop():
    """One workshop for all classes of a test file, so that each program is compiled once; it is gone afterwards."""
    global shared
    if shared is None:
        folder = tempfile.mkdtemp(prefix="sextant-test-")
        unittest.addModuleCleanup(shutil.rmtree, folder, ignore_errors=True)
        shared = Workshop(folder)
    return shared


class Workshop:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.built = {}
        shutil.copytree(SOURCES, self.folder / "sources")

    # --- compilers

    def compile(self, family, language, *flags, link=()):
        """The program that FAMILY (gcc, clang, or the name of a machine for its gcc) makes of the sources of LANGUAGE."""
        key = (family, language, flags, tuple(link))
        if key not in self.built:
            self.built[key] = self.compile_anew(family, language, flags, link)
        return self.built[key]

    def compile_anew(self, family, language, flags, link=()):
        """The same, in a folder of its own."""
        compiler = COMPILERS.get((family, language), f"{family}-gcc")
        sextant.need_tool(compiler)
        if family not in ("gcc", "clang") and not self.works(compiler, "-fsyntax-only", "sources/c/main.c"):
            raise unittest.SkipTest(f"{compiler} has no C library")
        for flag in (*flags, *link):
            if flag.startswith("-fuse-ld="):
                sextant.need_tool("ld." + flag.partition("=")[2])
        home = self.new_folder()
        jobs = 1 if language == "fortran" else len(os.sched_getaffinity(0))
        commands = [(compiler, *language_flags(language, home), *flags, "-c", source, "-o", f"{home}/{source.stem}.o")
                    for source in self.sources(language)]
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            list(pool.map(lambda command: self.run(*command), commands))
        objects = [command[-1] for command in commands]
        program = f"{home}/program"
        self.run(compiler, *flags, *objects, *link, "-o", program)
        return self.folder / program

    def sources(self, language):
        """Relative paths, in an order in which modules come before their users."""
        found = [path for path in (self.folder / "sources" / language).iterdir() if path.suffix in SUFFIXES[language]]
        return sorted((path.relative_to(self.folder) for path in found), key=lambda path: (path.stem == "main", path))

    def rust(self, *flags):
        sextant.need_tool("rustc")
        home = self.new_folder()
        self.run("rustc", *flags, "sources/rust/main.rs", "-o", f"{home}/program")
        return self.folder / home / "program"

    def go(self, *flags):
        sextant.need_tool("go")
        home = self.new_folder()
        # Without a cache that stays, every run would compile Go's own packages again.
        settings = {"GOCACHE": str(sextant.BUILD / "go-cache"), "GO111MODULE": "off", "GOFLAGS": "", "GOTOOLCHAIN": "local"}
        self.run("go", "build", *flags, "-o", f"{home}/program", "sources/go/main.go", environment=settings)
        return self.folder / home / "program"

    # --- other forms of a program

    def dwz(self, path):
        """One file whose units share what they have in common."""
        sextant.need_tool("dwz")
        made = self.new_folder() + "/program"
        self.run("dwz", "-o", made, path)
        return self.folder / made

    def dwz_with_alternate_file(self, paths, *flags):
        """Several files that share what they have in common through another one."""
        sextant.need_tool("dwz")
        home = self.new_folder()
        copies = []
        for number, path in enumerate(paths):
            copies.append(f"{home}/program{number}")
            shutil.copy(path, self.folder / copies[-1])
        self.run("dwz", *flags, "-m", f"{home}/common.debug", "-r", *copies)
        return [self.folder / copy for copy in copies]

    def compressed(self, path, kind):
        """KIND: zlib, zlib-gnu (sections .zdebug_*) or zstd."""
        sextant.need_tool("objcopy")
        made = self.new_folder() + "/program"
        if not self.works("objcopy", f"--compress-debug-sections={kind}", path, made):
            raise unittest.SkipTest(f"objcopy does not compress with {kind}")
        return self.folder / made

    def separated(self, path):
        """A stripped program with a debug file beside it."""
        sextant.need_tool("objcopy", "strip")
        home = self.new_folder()
        stripped, debug = f"{home}/program", f"{home}/program.debug"
        self.run("objcopy", "--only-keep-debug", path, debug)
        self.run("strip", "-o", stripped, path)
        self.run("objcopy", f"--add-gnu-debuglink={debug}", stripped)
        return self.folder / stripped

    def packed(self, path, tool):
        """A program with a package (.dwp) of its split DWARF and without the files that the package is made of."""
        tool = newest_tool(tool)
        if tool is None:
            raise unittest.SkipTest("no tool that makes packages of split DWARF")
        home = path.parent
        if not self.works(tool, "-e", path, "-o", f"{path}.dwp") or not os.path.exists(f"{path}.dwp"):
            raise unittest.SkipTest(f"{tool} does not do it")
        for split in home.glob("*.dwo"):
            split.unlink()
        return path

    # --- how things are run

    def new_folder(self):
        name = f"built{len(list(self.folder.glob('built*')))}"
        (self.folder / name).mkdir()
        return name

    def run(self, *command, environment=None):
        """A command that must succeed. One that hangs is ended."""
        done = self.start(command, environment)
        if done is None or done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace")[-3000:] if done else f"still running after {TOOL_SECONDS} s"
            raise AssertionError(f"$ {' '.join(map(str, command))}\n{said}")

    def works(self, *command):
        done = self.start(command, None)
        return done is not None and done.returncode == 0

    def start(self, command, environment):
        words = [os.fspath(word) for word in command]
        try:
            return subprocess.run(words, cwd=self.folder, timeout=TOOL_SECONDS, stdout=subprocess.DEVNULL, check=False,
                                  stderr=subprocess.PIPE, env={**os.environ, "LC_ALL": "C", **(environment or {})})
        except subprocess.TimeoutExpired:
            return None


def language_flags(language, home):
    return {"cpp": ["-std=c++17"], "fortran": ["-J", home]}.get(language, [])


def newest_tool(name):
    """The path of a tool of which several versions may be installed (llvm-dwp-22, llvm-dwp), or None."""
    candidates = {}
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        for path in glob.glob(os.path.join(glob.escape(folder), name + "*")):
            suffix = os.path.basename(path)[len(name) :]
            if suffix == "" or suffix[1:].isdigit():
                candidates[int(suffix[1:] or 0)] = path
    return candidates[max(candidates)] if candidates else None
