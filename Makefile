# A thin front of meson and ninja. `make help` lists the targets; each installs the Debian packages it needs.
#
# Variables: BUILD (build), CC (cc; make CC=clang BUILD=build-clang), PREFIX (/usr/local), DESTDIR, FUZZ_SECONDS (60),
# BIG (1: test, test-all and bench use large debug packages too, a kernel's among them; the whole sweeps are run).

BUILD ?= build
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60

ifneq ($(origin CC),default)
export CC
endif

ifneq ($(BIG),)
export SEXTANT_TEST_BIG := 1
big := big
endif

SANITIZED := -Dtests=enabled -Db_lundef=false -Doptimization=1 -Dwerror=false

.NOTPARALLEL:
.PHONY: all everything demo test test-all test-pages test-asan test-tsan bench dist lint fuzz fuzz-smoke interop install clean help

all:
	@scripts/setup build
	@scripts/build $(BUILD)

everything:
	@scripts/setup test
	@scripts/build $(BUILD) -Dtests=enabled -Dbench=true

demo: all
	@scripts/demo $(BUILD)

# Sweeps and comparisons with other tools run a part of their cases, or all of them.
# test-all also installs Node and Chromium; without them, test builds no pages and skips their tests.
test-all: export SEXTANT_TEST_ALL := 1
test test-all:
	@scripts/setup $(if $(filter test-all,$@),pages,test) $(big)
	@scripts/get-rclone $(BUILD)
	@scripts/build $(BUILD) -Dtests=enabled
	@scripts/run-tests $(BUILD)

test-pages: export SEXTANT_TEST_ALL := 1
test-pages:
	@scripts/setup pages
	@scripts/build $(BUILD) -Dtests=enabled
	@scripts/run-tests $(BUILD) --suite pages

# gcc finds false warnings in instrumented code, so these two builds do not stop at warnings.
test-asan:
	@scripts/setup test
	@scripts/get-rclone build-asan
	@scripts/build build-asan $(SANITIZED) -Db_sanitize=address,undefined
	@scripts/run-tests build-asan

test-tsan:
	@scripts/setup test
	@scripts/build build-tsan $(SANITIZED) -Db_sanitize=thread
	@scripts/run-tests build-tsan --suite threads

bench:
	@scripts/setup bench $(big)
	@scripts/build $(BUILD) -Dbench=true
	@SEXTANT=$(abspath $(BUILD))/sextant bench/run $(BUILD)

lint:
	@scripts/setup lint
	@scripts/build $(BUILD)
	@scripts/lint $(BUILD)

# The short run finds the same things each time, so that a change is judged by what it changes.
fuzz-smoke: export FUZZ_SEED := 1
fuzz fuzz-smoke:
	@scripts/setup fuzz
	@CC=clang scripts/build build-fuzz -Dfuzz=true -Dtests=disabled -Db_lundef=false -Dwerror=false \
	    -Db_sanitize=address,undefined
	@scripts/fuzz build-fuzz $(if $(filter fuzz-smoke,$@),6,$(FUZZ_SECONDS))

interop: all
	@scripts/setup interop
	@SEXTANT=$(abspath $(BUILD))/sextant tests/interop/run $(BUILD)

install:
	@scripts/setup build
	@scripts/build $(BUILD) -Dprefix=$(PREFIX)
	@DESTDIR=$(abspath $(DESTDIR)) meson install --no-rebuild --quiet -C $(BUILD)

# The source tree with pages, as one file.
dist:
	@scripts/setup dist
	@scripts/dist $(BUILD)

clean:
	rm -rf build build-*/ $(BUILD)

help:
	@echo 'make              build/sextant and libsextant'
	@echo 'make demo         build, archive a real binary, look addresses up'
	@echo 'make test         every test, long sweeps in part; within 4 minutes on 2 cores'
	@echo 'make test-all     every test with the whole sweeps, and Chromium for pages; BIG=1 adds large packages'
	@echo 'make test-pages   the tests of HTML pages, in Chromium; installs Node and Chromium'
	@echo 'make test-asan    as make test, under AddressSanitizer and UndefinedBehaviorSanitizer; test-tsan: threads'
	@echo 'make bench        speed, side by side with other tools'
	@echo 'make lint         format, layering, exported symbols, shell scripts'
	@echo 'make fuzz         every fuzz harness for FUZZ_SECONDS (60); fuzz-smoke: seeds and 10 s'
	@echo 'make interop      with the tools of others, where their toolchains are there'
	@echo 'make install      into PREFIX (/usr/local), below DESTDIR'
	@echo 'make dist         the release archive: the last commit and its pages, in the build directory'
	@echo 'make everything   build with tests and benchmarks, run nothing'
	@echo 'make clean        remove all build directories'
	@echo 'With clang:       make CC=clang BUILD=build-clang'
