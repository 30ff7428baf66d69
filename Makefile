# make          build triad into bin/, and for GPU machines triad-cuda and the kernel libraries; downloads nvcc if there is none
# make test     the fast tier: every cheap test and one of each kind of expensive ones; narrow it with OP=softmax or PACKAGES=./internal/judge
# make lint     go vet, staticcheck, gofumpt, ruff and the widths of lines; make format fixes what a program can fix
# make generated  regenerate what follows from the operators: the list of imports, error bounds, tables of documents, findings
# make mutation  score the judge on planted bugs and correct variants; SEEDS=n uses n fresh seeds, PEERS=1 adds fixed tolerances
# make test-long  the whole matrix, suite by suite; resumes where it was stopped unless a file has changed
# make test-names  list all tests and cases again, after a complete make test
# make bench    the costs of the emulator, of the truth, of verdicts on a large case, and of calling an operator from Python
# make database  measure the database figures of results/published/README.md; PARTS="questions pages" selects some
# make public FOLDER=x BATCH=y  judge the public files of the manifest in FOLDER (checked out as OWNER+NAME), with FLAGS=1 by their lines and flags; WRITE=1 records the results
# make lab OP=x  pack the kernels of one operator for a GPU machine, with a script that judges, times and profiles them: build/lab/x.tar.xz
# make figures  build bin/figures.test, which measures the figures of results/published/README.md on a GPU
# make wheel    build a wheel of the Python package, with triad in it, for this Python and platform into dist/; installing it needs no Go
# make release  build what people install into dist/: wheels for PYTHONS, the container file, the changelog, SHA256SUMS
# make clean    remove everything that was built here

GO ?= go
SHELL = /bin/bash -o pipefail
export TRIAD_TEST_SETUP = 1
# SQLite is most of the C that Go compiles: 23 s of processor time at -O2 -g, 10 s at -O1.
export CGO_CFLAGS ?= -O1
# Without paths of the checkout in them, packages are compiled once for the tests, for the copy of the tree that
# TestStampedOperator makes, and for bin/triad.
export GOFLAGS := $(filter-out -trimpath,$(shell $(GO) env GOFLAGS)) -trimpath

# Go collects garbage a quarter as often: its compiler and the truths of the tests take an eighth less processor time,
# and the compiler a quarter more memory.
export GOGC ?= 400

build:
	$(GO) build -o bin/ ./cmd/triad
	bin/triad setup --yes --gpu bin

# The machine that runs it needs neither Go nor the sources: its own nvcc builds the planted kernels.
figures:
	$(GO) test -c -ldflags '-s -w' -o bin/figures.test ./cuda/gpuworker

# Compiles only the kernels of OP. NAME=x keeps the packs of two trees apart, whose times the script can then compare.
lab:
	@test -n "$(OP)" || { echo 'make lab OP=softmax: name an operator of triad ops list' >&2; exit 2; }
	rm -rf build/lab/$(or $(NAME),$(OP)) && mkdir -p build/lab/$(or $(NAME),$(OP))
	$(GO) build -ldflags '-s -w' -o build/lab/$(or $(NAME),$(OP))/ ./cmd/triad
	build/lab/$(or $(NAME),$(OP))/triad setup --yes --gpu build/lab/$(or $(NAME),$(OP)) --kernels $(OP)
	cp results/lab.sh build/lab/
	tar -C build/lab -cJf build/lab/$(or $(NAME),$(OP)).tar.xz lab.sh $(or $(NAME),$(OP))

# The fast tier: docs/testing.md. PACKAGES or OP=softmax narrows it, RUN is a pattern of tests. With TRIAD_TEST_ALL=1, as in .ci/run, missing tools and
# exceeded budgets fail the run, and GPU-only code must be covered; otherwise they are reported at the end. The slowest packages come first, so that no
# core waits for them at the end.
PACKAGES ?= ./cmd/triad ./pybridge ./results ./internal/newoperator ./cuda ./cuda/serve ./...
RUN ?=
# GPU-only code, tested on a fake GPU: .ci/gpu-lines lists the files and the number of lines that may stay uncovered.
COVERED = cmd/triad internal/machine cmd/triad/bench internal/sanitize cmd/triad/setup internal/run internal/timing internal/stats internal/report internal/worker cuda/build cuda/program cuda/serve cuda/gpuworker
comma := ,
empty :=
space := $(empty) $(empty)
counted = -cover -coverpkg=$(subst $(space),$(comma),$(COVERED:%=triad/%)) $(COVERED:%=./%) -args -test.gocoverdir='$(CURDIR)/build/cover'
# Two go test run at the same time, each on half of the cores: cmd/triad takes half of all time, in one process.
half = -p $$(( ($$(nproc) + 1) / 2 ))
# -w: without debugging symbols a test binary is linked in half the time. Traces of goroutines need none.
go_test = $(GO) test -json -vet=off -ldflags=-w -timeout 60m -exec "'$(CURDIR)/build/testreport' exec" $(if $(RUN),-run '$(RUN)')
report = tee build/test.json | build/testreport -budgets .ci/budgets -costs build/costs -last build/costs.last -packages build/packages \
	-keys build/keys $(if $(RUN),,-names .ci/tests -reasons .ci/left-out.md) $(if $(TRIAD_TEST_ALL),-ci)
export TRIAD_TEST_COSTS = $(CURDIR)/build/costs

test: $(if $(OP),test-operator,test-packages)

test-packages: test-tools
	@$(GO) list -e -f '{{if not .Error}}{{.ImportPath}} {{.Dir}}{{end}}' $(PACKAGES) >build/packages
	@test -s build/packages || { echo 'make test: no package matches $(PACKAGES)' >&2; exit 2; }
ifneq ($(TRIAD_TEST_COVER),)
	@rm -rf build/cover build/first build/second && mkdir -p build/cover && mkfifo build/first build/second
	{ $(go_test) $(half) $$($(GO) list $(PACKAGES) | grep -vxF "$$($(GO) list $(COVERED:%=./%))") >build/first & first=$$!; \
		$(go_test) $(half) $(counted) >build/second & second=$$!; \
		build/testreport merge build/first build/second; wait $$first && wait $$second; } | $(report)
	@rm -f build/first build/second
	$(GO) tool covdata textfmt -i=build/cover -o build/gpu.cover
	$(GO) run ./internal/gpucoverage -profile build/gpu.cover -list .ci/gpu-lines
else
	$(go_test) $(PACKAGES) | $(report)
endif

test-tools:
	@mkdir -p build && { ! test -f build/costs || mv build/costs build/costs.last; }
	$(GO) build -ldflags=-w -o build/ ./cmd/triad ./internal/testreport
	@$(MAKE) --no-print-directory set-up

# One operator: its own tests, the tests that every operator's truth and kernels must pass, and all its implementations on the CPU.
operator_tests = '^(TestEveryCaseHasATruth|TestLooserContracts|TestRelationsHoldOfTheSimulatedContract|TestRelationsReject|TestOneUlpBreaksWhatHoldsBitForBit|TestContractsAgree|TestTrivialByDesign|TestMarkModerate|TestRelationsArePlanned|TestEveryKernelFileRegisters)$$/^$(OP)$$'
test-operator: test-tools
	@test -d 'internal/catalog/$(OP)' || { echo 'make test OP=$(OP): no operator has this name; see triad ops list' >&2; exit 2; }
	$(GO) test -vet=off ./internal/catalog/$(OP)
	$(GO) test -vet=off -run $(operator_tests) ./internal/truth ./internal/run ./cuda/serve
	build/triad compare $(OP) --quick --device cpu --offline --db build/$(OP).db
	! grep -q '^\[backward\]' internal/catalog/$(OP)/$(OP).toml || \
		build/triad gradcheck $(OP) --quick --device cpu --offline --db build/$(OP).db || test $$? = 3

# Writes .ci/tests, the list of all tests and cases, from the last complete run.
test-names:
	build/testreport -names .ci/tests -write-names <build/test.json >/dev/null

vet:
	$(GO) vet ./...

# The Go tools are pinned in go.mod, ruff in .ci/ruff.txt.
ruff = build/ruff/bin/ruff
go_files = git ls-files -z --cached --others --exclude-standard '*.go' ':!*testdata/*'

lint: vet $(ruff)
	$(GO) tool staticcheck ./...
	@unformatted=$$($(go_files) | xargs -0 $(GO) tool gofumpt -l) && if [ -n "$$unformatted" ]; then \
		echo "not as gofumpt writes them, make format does it: $$unformatted" >&2; exit 1; fi
	$(ruff) check .
	$(GO) run ./internal/linelength

format: $(ruff)
	$(go_files) | xargs -0 $(GO) tool gofumpt -w
	$(ruff) check --fix .

# Run it after adding or changing an operator. It writes the list of imports, the recorded error bounds, the tables of relations and power, and the
# pages of findings and of the catalogue.
generated:
	$(GO) test -vet=off ./internal/truth/all -run '^TestAllListsEveryOperator$$' -update
	$(GO) test -vet=off ./internal/truth -run '^(TestVersionNamesTheErrorBounds|TestRelationsPage)$$' -update
	$(GO) test -vet=off ./internal/run -run '^TestPower$$' -update
	@mkdir -p build
	$(GO) run ./cmd/triad ops findings > build/findings.md && cp build/findings.md docs/findings.md
	$(GO) run ./cmd/triad ops catalogue > build/catalogue.md && cp build/catalogue.md docs/catalogue.md

$(ruff): .ci/ruff.txt
	python3 -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes --upgrade --target build/ruff -r .ci/ruff.txt
	@touch $@

set-up:
	build/triad setup --yes --nvcc

# The tuning seed, or SEEDS=n fresh ones; every operator, or OP=name. The last line is the score, below the survivors.
mutation:
	@rm -rf build/mutation; mkdir -p build/mutation
	@TRIAD_MUTATION_SEEDS=$(SEEDS) TRIAD_MUTATION_PEERS=$(PEERS) TRIAD_MUTATION_SCORE=$(CURDIR)/build/mutation \
		$(GO) test -count=1 -timeout 120m -run '^TestMutation$$' ./internal/catalog/$(or $(OP),...); status=$$?; \
		TRIAD_TEST_TIER=long TRIAD_MUTATION_SEEDS=$(SEEDS) TRIAD_MUTATION_SCORE=$(CURDIR)/build/mutation \
		$(GO) test -count=1 -timeout 120m -run '^TestDerivedMutants$$/^$(or $(OP),.*)$$' ./internal/truth/all || status=$$?; \
		TRIAD_MUTATION_PEERS=$(PEERS) $(GO) run ./internal/mutationscore build/mutation | tee build/mutation.txt; exit $$status

test-long: test-tools
	.ci/long

bench:
	$(GO) test -run '^$$' -bench Emulator -benchtime 1x ./cuda
	$(GO) test -run '^$$' -bench . -benchtime 1x ./internal/catalog/...
	$(GO) test -run '^$$' -bench Verdict -benchtime 3x ./internal/run
	$(GO) test -run '^$$' -bench Overhead -benchtime 1x ./pybridge/python

database:
	results/published/database.sh $(PARTS)
	$(GO) run ./results/published

# CLONES is a folder with clones of the published sets; SETS names some of them.
audit:
	$(GO) build -o build/ ./cmd/triad
	results/published/problems/audit.sh build/triad "$(CLONES)" $(SETS)

# FOLDER is a clone of the repository of kernelbench.com; TABLE=1 only makes the matrix, from the existing rows.
corpus:
	$(GO) build -o build/ ./cmd/triad
	$(GO) run ./internal/corpus $(if $(TABLE),-table,-folder "$(FOLDER)" -device "$(or $(DEVICE),cpu)" -half "$(or $(HALF),open)")

public:
	$(GO) build -o build/ ./cmd/triad
	$(GO) run ./internal/publicfiles -folder "$(FOLDER)" -batch "$(BATCH)" $(if $(FLAGS),-flags) $(if $(WRITE),-write)

wheel:
	$(MAKE) release PYTHONS=python3

# All PYTHONS must be installed, with headers; release/build.Dockerfile has them in containers.
PYTHONS ?= python3.11 python3.12 python3.13 python3.14
release: build
	rm -rf build/gpu && mkdir -p build/gpu && cp -r bin/triad-cuda bin/kernels build/gpu/
	GO="$(GO)" python3 release/wheels.py --gpu build/gpu --dist dist $(PYTHONS)

clean:
	rm -rf bin build dist

.PHONY: audit corpus generated lint format build figures wheel release test test-packages test-tools test-operator test-names vet set-up mutation test-long bench \
	database public lab clean
