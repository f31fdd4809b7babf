# The front door. Everything else is Meson's: see meson.build and CONTRIBUTING.md.
BUILD ?= build

.PHONY: help setup build demo check bench fuzz install clean

help:
	@echo 'make demo     install what is needed, build, and run the main job on simulated data'
	@echo 'make check    build and run every test, also with sanitizers'
	@echo 'make bench    measure, about ten minutes on an idle machine (bench/report > bench/RESULTS.md)'
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
	@bench/report $(BUILD)

fuzz: setup
	@tools/fuzz

install: build
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD)

clean:
	rm -rf build build-asan build-clang build-fuzz demo
