"""Programs that limit their system calls with seccomp: the recorder makes none that would kill them."""

from support import heap_programs as programs
from support import sextant, tap
from support.recording import RecordTest

SOURCE = r"""
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOT_INSTALLED 77

static void *volatile sink;
static long count;

static __attribute__((noinline)) void work(void)
{
    for (long i = 0; i < count; i++) {
        sink = malloc(100 + i % 7); /* confined */
        free(sink);
    }
}

static __attribute__((noinline)) int deep(int depth)
{
    volatile char room[4000];
    room[0] = (char)depth;
    if (depth == 0)
        work();
    return depth > 0 ? deep(depth - 1) + room[0] : 0;
}

static int install(const char *how)
{
    /* What the program itself needs; everything else ends it. */
    struct sock_filter few[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_write, 5, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_exit, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_exit_group, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_brk, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_futex, 1, 0),
        BPF_STMT(BPF_RET, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW),
    };
    /* A list of what is forbidden, none of which the recorder does. */
    struct sock_filter most[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_execve, 1, 0),
        BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET, SECCOMP_RET_KILL_PROCESS),
    };
    /* mmap with PROT_EXEC is forbidden: the arguments count. */
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_mmap, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET, 4, 0, 1),
        BPF_STMT(BPF_RET, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof few / sizeof *few, few};
    if (strstr(how, "most") != NULL)
        program = (struct sock_fprog){sizeof most / sizeof *most, most};
    if (strstr(how, "code") != NULL)
        program = (struct sock_fprog){sizeof code / sizeof *code, code};
    int is_call = strstr(how, "syscall") != NULL;
    if (strstr(how, "strict") != NULL)
        return is_call ? (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL)
                       : prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    if (strstr(how, "both") != NULL && syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == 0)
        return -1; /* a call that fails */
    return is_call ? (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)
                   : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void *in_thread(void *how)
{
    work();
    if (install(how) != 0)
        _exit(NOT_INSTALLED);
    work();
    syscall(SYS_exit_group, 5); /* ending a thread takes other system calls */
    return NULL;
}

int main(int argc, char **arguments)
{
    const char *how = arguments[1];
    count = atol(arguments[2]);
    (void)argc;
    if (strstr(how, "thread") != NULL) {
        pthread_t thread;
        pthread_create(&thread, NULL, in_thread, (void *)how);
        pthread_join(thread, NULL);
        return 5;
    }
    sink = malloc(4000); /* before */
    if (install(how) != 0)
        _exit(NOT_INSTALLED);
    deep(6);
    if (strstr(how, "most") != NULL) {
        pid_t child = fork();
        if (child == 0) {
            work();
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    if (write(1, "alive\n", 6) != 6)
        return 1;
    syscall(SYS_exit, 5);
    return 0;
}
"""


class Seccomp(RecordTest):
    def run_confined(self, how, count, quiet=True):
        """Records the program; what `record` said."""
        program = programs.build(self.folder, "program", SOURCE)
        command = ["record", "-q", "-o", self.folder / "out.mlyze", "--", program, how, str(count)]
        result = sextant.run(*command, cwd=self.folder)
        if result.status == 77:
            self.skipTest("seccomp cannot be used here")
        self.assertEqual(result.status, 5, f"\n{result}")
        if quiet:
            self.assertEqual(result.err, "", f"\n{result}")
        self.run_ok("verify", self.folder / "out.mlyze")
        return result.err

    def confined(self, how, count):
        """The stacks of what the program allocated under the filter."""
        self.run_confined(how, count)
        stacks, found = {}, []
        for line in self.run_ok("dump", "--json", self.folder / "out.mlyze").json_lines():
            if "frames" in line:
                stacks[line["stack"]] = [frame["function"] for frame in line["frames"]]
            elif line.get("event") == "alloc" and 100 <= line["size"] < 107:
                found.append(stacks[line["stack"]])
        return found

    def test_nothing_is_lost_of_a_short_program(self):
        for how in ("strict", "strict syscall", "few", "few syscall", "few both"):
            with self.subTest(how=how):
                found = self.confined(how, 2000)
                self.assertEqual(len(found), 2000)
                for stack in found:
                    self.assertEqual(stack[:9], ["work", *["deep"] * 7, "main"])
                    self.assertEqual(stack[-1], "_start")

    def test_a_long_one_is_recorded_as_long_as_there_is_room(self):
        for how in ("strict", "few"):
            with self.subTest(how=how):
                error = self.run_confined(how, 800_000, quiet=False)
                answer = self.run_warned("heap", "--json", self.folder / "out.mlyze")
                self.assertIn("recording stopped before the program ended (seccomp)", answer.err)
                (summary,) = answer.json_lines()
                self.assertGreater(summary["allocations"], 500_000)
                self.assertRegex(error, r"recording stopped before the program ended: .*\(seccomp\)\n$")

    def test_a_filter_that_permits_everything_changes_nothing(self):
        for how in ("most", "most syscall", "code"):
            with self.subTest(how=how):
                found = self.confined(how, 30_000)
                self.assertEqual(len(found), 30_000)

    def test_a_thread(self):
        found = self.confined("few thread", 3000)
        self.assertEqual(len(found), 6000)


if __name__ == "__main__":
    tap.main()
