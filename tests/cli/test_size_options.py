"""`archive -f size`: the source directory, the names of containers, and the settings of the build."""

import json

from support import samples, sextant, tap

SOURCE = "int f(int x) { return x * 3; }\nint main(void) { return f(2); }\n"


class OptionTest(sextant.ProgramTest):
    def header_of(self, output):
        return self.run_ok("dump", "--json", output).json_lines()[0]["header"]

    def symbols_of(self, output):
        return self.run_ok("dump", "--json", output).json_lines()[1:]

    def compile(self, folder, *flags, source="a.c"):
        """A program in FOLDER with DWARF, from FOLDER/src/lib/SOURCE."""
        (folder / "src" / "lib").mkdir(parents=True, exist_ok=True)
        path = folder / "src" / "lib" / source
        path.write_text(SOURCE)
        sextant.need_tool("gcc")
        sextant.tool("gcc", "-g", "-O0", *flags, "-o", folder / "app", path, cwd=folder)
        return folder / "app"


class SourceDir(OptionTest):
    def paths(self, *arguments, cwd=None, env=None):
        self.run_ok("archive", "-q", *arguments, "-o", self.folder / "o.size", cwd=cwd, env=env)
        return {one["full_name"]: one["source_path"] for one in self.symbols_of(self.folder / "o.size")}

    def test_relative_directories(self):
        root = self.folder / "tree"
        app = self.compile(root)
        other = root / "src" / "lib"
        (root / "side").mkdir()
        for directory, cwd, wanted in ((".", root, "src/lib/a.c"), ("./", root, "src/lib/a.c"),
                                       ("src", root, "lib/a.c"), ("./src/", root, "lib/a.c"),
                                       ("..", other, "lib/a.c"), ("../..", other, "src/lib/a.c"),
                                       ("../src/../src", root / "src", "lib/a.c"), ("../src//lib", root / "side", "a.c"),
                                       (root, self.folder, "src/lib/a.c"), (f"{root}/./src/../", "/", "src/lib/a.c"),
                                       ("side", root, f"{root}/src/lib/a.c"),
                                       ("/", root, f"{root}/src/lib/a.c"[1:])):  # fmt: skip
            with self.subTest(directory=str(directory)):
                self.assertEqual(self.paths(app, "--source-dir", directory, cwd=cwd)["main"], wanted)

    def test_symbolic_links_and_dots_in_paths(self):
        root = self.folder / "tree"
        app = self.compile(root)
        link = self.folder / "link"
        link.symlink_to(root)
        self.assertEqual(self.paths(app, "--source-dir", link)["main"], "src/lib/a.c")
        self.assertEqual(self.paths(app, "--source-dir", ".", cwd=link, env={"PWD": str(link)})["main"], "src/lib/a.c")
        sextant.tool("gcc", "-g", "-o", "dots", f"{link}/src/./lib/../lib/a.c", cwd=link)
        self.assertEqual(self.paths("dots", "--source-dir", ".", cwd=link, env={"PWD": str(link)})["main"], "src/lib/a.c")
        self.assertEqual(self.paths("dots", "--source-dir", link, cwd=root)["main"], "src/lib/a.c")

    def test_directories_that_are_not_there(self):
        root = self.folder / "tree"
        app = self.compile(root, f"-fdebug-prefix-map={root}=/build/project")
        self.assertEqual(self.paths(app, "--source-dir", "/build/project")["main"], "src/lib/a.c")
        self.assertEqual(self.paths(app, "--source-dir", "/build/./project/src/")["main"], "lib/a.c")
        self.run_error("archive", app, "--source-dir", "nowhere", "-o", self.folder / "o.size", naming="nowhere")
        self.run_error("archive", app, "--source-dir", app, "-o", self.folder / "o.size", naming="app")

    def test_metadata_below_it(self):
        root = self.folder / "tree"
        app = self.compile(root)
        (root / "DIR_METADATA").write_text('monorail {\n  component: "Root"\n}\n')
        (root / "src" / "DIR_METADATA").write_text('mixins: "//common/DIR_METADATA"\n')
        (root / "common").mkdir()
        (root / "common" / "DIR_METADATA").write_text('buganizer_public: { component_id: 1 }\ncomponent: "Shared>Code"\n')
        wanted = "Shared>Code"
        for directory, cwd in ((".", root), ("../tree", root), (root, "/"), ("../..", root / "src" / "lib")):
            self.paths(app, "--source-dir", directory, cwd=cwd)
            found = {one["full_name"]: one["component"] for one in self.symbols_of(self.folder / "o.size")}
            self.assertEqual(found["main"], wanted, directory)
        (root / "src" / "lib" / "DIR_METADATA").write_text('component: "Lib"')
        self.paths(app, "--source-dir", "src", cwd=root)
        found = {one["full_name"]: one["component"] for one in self.symbols_of(self.folder / "o.size")}
        self.assertEqual(found["main"], "Lib")

    def test_revision_of_the_repository_around_it(self):
        sextant.need_tool("git")
        root = self.folder / "tree"
        app = self.compile(root)

        def git(*arguments, cwd=root):
            return sextant.tool("git", "-c", "user.name=n", "-c", "user.email=e@e", *arguments, cwd=cwd).decode().strip()

        git("init", "-q")
        git("add", "src")
        git("commit", "-qm", "first")
        first = git("rev-parse", "HEAD")
        git("worktree", "add", "-q", str(self.folder / "work"), "-b", "side")
        git("commit", "-q", "--allow-empty", "-m", "second", cwd=self.folder / "work")
        second = git("rev-parse", "HEAD", cwd=self.folder / "work")
        for directory, cwd, wanted in ((".", root, first), ("src/lib", root, first), (".", root / "src", first),
                                       (self.folder / "work", "/", second),
                                       ("src", self.folder / "work", second)):  # fmt: skip
            self.paths(app, "--source-dir", directory, cwd=cwd)
            self.assertEqual(self.header_of(self.folder / "o.size")["metadata"]["git_revision"], wanted, directory)
        git("pack-refs", "--all")
        self.paths(app, "--source-dir", "src", cwd=self.folder / "work")
        self.assertEqual(self.header_of(self.folder / "o.size")["metadata"]["git_revision"], second)
        self.paths(app, "--source-dir", root, "--build-config", "git_revision=mine")
        self.assertEqual(self.header_of(self.folder / "o.size")["metadata"]["git_revision"], "mine")


class Containers(OptionTest):
    def names(self, *paths, cwd=None):
        self.run_ok("archive", "-q", *paths, "-o", self.folder / "o.size", cwd=cwd)
        self.run_ok("verify", self.folder / "o.size")
        names = [one["name"] for one in self.header_of(self.folder / "o.size")["containers"]]
        self.assertEqual({one["container"] for one in self.symbols_of(self.folder / "o.size")}, set(names))
        return sorted(names)

    def test_names_are_distinct(self):
        program = samples.compile_c(self.folder, "app", source=SOURCE)
        for place in ("old", "new", "x/lib", "y/lib", "z"):
            (self.folder / place).mkdir(parents=True)
            (self.folder / place / "app").write_bytes(program.read_bytes())
        folder = self.folder
        self.assertEqual(self.names(folder / "old/app", folder / "new/app"), ["new/app", "old/app"])
        self.assertEqual(self.names("old/app", "new/app", cwd=folder), ["new/app", "old/app"])
        self.assertEqual(self.names("app", "./new/app", cwd=folder), ["app", "new/app"])
        self.assertEqual(self.names("app", "../new/app", cwd=folder / "old"), ["app", "new/app"])
        self.assertEqual(self.names("x/lib/app", "y/lib/app", "z/app", cwd=folder), ["x/lib/app", "y/lib/app", "z/app"])
        self.assertEqual(self.names("app", "app", "./app", cwd=folder), ["app", "app (2)", "app (3)"])

    def test_names_of_the_reference(self):
        program = samples.compile_c(self.folder, "app", source=SOURCE)
        odd = self.folder / "a<b>c?"
        odd.write_bytes(program.read_bytes())
        self.assertEqual(self.names(program, odd), ["a_b_c_", "app"])


class BuildConfig(OptionTest):
    def config(self, *arguments, status=0):
        program = self.folder / "app"
        if not program.exists():
            samples.compile_c(self.folder, "app", source=SOURCE)
        command = ["archive", "-q", program, "-o", self.folder / "o.size", *arguments]
        if status:
            return self.run_usage(*command)
        self.run_ok(*command)
        self.run_ok("verify", self.folder / "o.size")
        return self.header_of(self.folder / "o.size")["metadata"]

    def test_arguments_of_gn_are_a_list(self):
        one = self.config("--build-config", "gn_args=is_debug=false")
        self.assertEqual(one["gn_args"], ["is_debug=false"])
        two = self.config("--build-config", "gn_args=use_x=true", "--build-config", "a=b", "--build-config",
                          'gn_args=arch="arm"')  # fmt: skip
        self.assertEqual(two["gn_args"], ['arch="arm"', "use_x=true"])
        self.assertEqual(two["a"], "b")
        raw = self.run_ok("dump", self.folder / "o.size").text.splitlines()[0]
        self.assertEqual(raw.count('"gn_args"'), 1)
        json.loads(raw.lstrip("# "))

    def test_two_values_of_a_setting_are_an_error(self):
        for arguments in (("--build-config", "a=1", "--build-config", "a=2"),
                          ("--build-config", "a=1", "--build-config", "a=1"),
                          ("--title", "t", "--build-config", "title=u"), ("--url", "t", "--build-config", "url=u"),
                          ("--git-revision", "t", "--build-config", "git_revision=u")):  # fmt: skip
            result = self.config(*arguments, status=2)
            self.assertIn("two values", result.err.decode() if isinstance(result.err, bytes) else result.err)
        self.assertFalse((self.folder / "o.size").exists())


if __name__ == "__main__":
    tap.main()
