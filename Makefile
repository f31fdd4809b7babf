# The front door. Everything else is Meson's: see meson.build and CONTRIBUTING.md.
BUILD ?= build
PREFIX_OPTION = $(if $(PREFIX),-Dprefix='$(abspath $(PREFIX))')

.PHONY: help build demo check bench fuzz install clean

help:
	@echo 'make demo     install what is needed, build, and run the main job on simulated data'
	@echo 'make build    build the command and the library, in ./build'
	@echo 'make install  install the command, library, header and manual (PREFIX, DESTDIR)'
	@echo 'make check    build and run every test, also with sanitizers and with clang'
	@echo 'make bench    measure, about ten minutes on an idle machine (bench/report > bench/RESULTS.md)'
	@echo 'make fuzz     feed the readers random bytes, 10 minutes each (FUZZ_SECONDS=n)'

build:
	@tools/setup build
	@tools/configure $(BUILD) $(PREFIX_OPTION)
	@ninja -C $(BUILD) --quiet

demo: build
	@tools/demo $(BUILD)

install: build
	@DESTDIR='$(DESTDIR)' meson install -C $(BUILD) --no-rebuild

check:
	@tools/setup test
	@tools/check

bench: build
	@bench/report $(BUILD)

fuzz:
	@tools/setup test
	@tools/fuzz

clean:
	rm -rf build build-asan build-clang build-tsan build-fuzz demo
