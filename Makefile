# The front door. Everything else is Meson's: see meson.build and CONTRIBUTING.md.
BUILD ?= build

.PHONY: help setup build demo check bench fuzz install clean

help:
	@echo 'make demo     install what is needed, build, and run the main job on simulated data'
	@echo 'make check    build and run every test, also with sanitizers'
	@echo 'make bench    measure; results go to the terminal (see bench/RESULTS.md)'
	@echo 'make fuzz     feed the readers random bytes, 10 minutes each (FUZZ_SECONDS=n)'
	@echo 'make install  install the command, library, header and manual (PREFIX, DESTDIR)'

setup:
	@tools/setup

build: setup
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) $(if $(PREFIX),--prefix=$(PREFIX))
	@ninja -C $(BUILD) --quiet

demo: build
	@tools/demo $(BUILD)

check: setup
	@tools/check

bench: build
	@ninja -C $(BUILD) --quiet $(addprefix bench/bench_,$(shell cat bench/programs.txt))
	@for b in $$(cat bench/programs.txt); do echo "== $$b"; $(BUILD)/bench/bench_$$b || exit 1; done

fuzz: setup
	@tools/fuzz

install: build
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD)

clean:
	rm -rf build build-asan build-clang build-fuzz demo
