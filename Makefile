# The front door. Everything else is Meson's: see meson.build and CONTRIBUTING.md.
BUILD ?= build
# Debian's Python makes the wheel; the one that is to use it may be another (PYTHON=, VENV=).
PYTHON ?= /usr/bin/python3
VENV ?= venv
PREFIX_OPTION = $(if $(PREFIX),-Dprefix='$(abspath $(PREFIX))')

MPICC ?= mpicc
MPIFLAGS ?=

.PHONY: help build mpi demo python r docs check check-rest check-all slurm bench bench-growth bench-peers fuzz experiments install clean

help:
	@echo 'make demo     install what is needed, build, and run the main job on simulated data'
	@echo 'make build    build the command and the library, in ./build'
	@echo 'make mpi      for mpirun and srun: the plugin in ./build, by MPICC=mpicc; then make install'
	@echo 'make install  install the command, library, header and manual (PREFIX, DESTDIR)'
	@echo 'make python   build the wheel of the Python package, and install it into ./venv (PYTHON, VENV)'
	@echo 'make r        build the R package with the library in it, and install it where R finds it (RLIB)'
	@echo 'make docs     build the documentation site, in ./build/docs/html'
	@echo 'make check    build and run the tests, some minutes'
	@echo 'make check-all  every test: also sanitizers, clang, both MPIs, browsers, wheel, R; about half an hour'
	@echo 'make slurm    run the tests that need Slurm, in one that is started for them on this machine; as root'
	@echo 'make bench    measure, within 15 minutes on two idle processors (bench/report --write: into bench/RESULTS.md)'
	@echo 'make bench-growth  measure whole fits by participants and responses, 15 minutes, into bench/RESULTS.md and the documentation'
	@echo 'make bench-peers   seconds and held-out density beside regression, scikit-learn and mgcv, on one simulated table'
	@echo 'make fuzz     feed the readers random bytes, 10 minutes each (FUZZ_SECONDS=n)'
	@echo 'make experiments  list the evaluations that make the tables of the documentation'

build:
	@tools/setup build
	@tools/configure $(BUILD) $(PREFIX_OPTION)
	@ninja -C $(BUILD) --quiet

# There is no MPI in the command: whose MPI it is, is known where it runs.
mpi:
	@command -v $(MPICC) >/dev/null || { echo 'make mpi: there is no $(MPICC): load the MPI of this cluster, install' \
	    'libopenmpi-dev or libmpich-dev, or name its compiler by MPICC=' >&2; exit 1; }
	@mkdir -p $(BUILD)
	@$(MPICC) -std=c11 -O2 -Wall -Wextra $(MPIFLAGS) -shared -fPIC -fvisibility=hidden plugin/comm_mpi.c \
	    -o $(BUILD)/libkronorm_mpi.so

demo: build
	@tools/demo $(BUILD)

install: build
	@DESTDIR='$(DESTDIR)' meson install -C $(BUILD) --no-rebuild

python:
	@tools/setup python
	@tools/wheel '$(PYTHON)' '$(VENV)'

r: build
	@tools/setup r
	@tools/rpackage '$(BUILD)' '$(RLIB)'

docs: build
	@tools/setup docs
	@tools/make_docs '$(BUILD)'

check:
	@tools/check short

check-rest:
	@tools/check rest

check-all:
	@tools/check short; tools/check rest; tools/check total

slurm: build
	@tools/setup slurm
	@tests/slurm/run '$(BUILD)'

bench: build
	@bench/report $(BUILD)

bench-growth: build
	@bench/report --growth --write $(BUILD)

bench-peers: build
	@tools/setup peers
	@bench/peers '$(BUILD)/kronorm'

fuzz:
	@tools/setup all
	@tools/fuzz

# The first line of each docstring.
experiments:
	@for f in experiments/*; do [ ! -f "$$f" ] || sed -n "2s|^\"\"\"|$$f: |p" "$$f"; done

clean:
	rm -rf build build-asan build-clang build-tsan build-fuzz build-python demo python/build python/dist python/*.egg-info
	[ ! -e venv/made-by-kronorm ] || rm -rf venv
