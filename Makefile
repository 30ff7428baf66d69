# make          build triad, and for GPU machines triad-cuda and the kernel libraries, into bin/; fetches nvcc where there is none
# make test     every test: Go, Python, emulator; fetches what they need on first use, and ends with what was skipped and why
# make lint     go vet, staticcheck, gofumpt, ruff and the widths of lines; make format writes what of it can be written by a program
# make generated  what is made from the operators' rooms: the list of imports, the judge's books, tables of documents, findings
# make gpu-coverage  what no test runs of the code that only a GPU reaches
# make mutation  score the judge on planted bugs and right variants; SEEDS=n on n fresh seeds, PEERS=1 with fixed tolerances beside it
# make test-long  more seeds, more kills, fuzzing, every kernel compiled for every GPU
# make bench    what the emulator, the truth, the verdicts on a large case and a call of an operator in Python cost
# make database measure what docs/performance.md says of the database of results; PARTS="questions pages" alone, say
# make public FOLDER=x BATCH=y  ask about the public files of the manifest that lie in FOLDER, checked out as OWNER+NAME; WRITE=1 keeps what is given
# make lab OP=x  pack the kernels of one operator for a GPU machine, with the script that judges, times and profiles them there: build/lab/x.tar.xz
# make figures  build bin/figures.test, which measures on a GPU what docs/performance.md promises
# make wheel    a wheel of the Python package for this Python and platform into dist/: it installs without Go, and brings triad along
# make release  what people install, into dist/: wheels for PYTHONS, the container file, the changelog, SHA256SUMS
# make clean    remove what was built here

GO ?= go
SHELL = /bin/bash -o pipefail
export TRIAD_TEST_SETUP = 1

build:
	$(GO) build -trimpath -o bin/ ./cmd/triad
	bin/triad setup --yes --gpu bin

# Neither Go nor the sources are needed where it runs: the kernels that it plants are built by the nvcc that is there.
figures:
	$(GO) test -c -trimpath -ldflags '-s -w' -o bin/figures.test ./cuda/gpuworker

# Only its own kernels are compiled. NAME=x keeps the packs of two trees apart, whose times the script then compares.
lab:
	@test -n "$(OP)" || { echo 'make lab OP=softmax: name an operator of triad ops list' >&2; exit 2; }
	rm -rf build/lab/$(or $(NAME),$(OP)) && mkdir -p build/lab/$(or $(NAME),$(OP))
	$(GO) build -trimpath -ldflags '-s -w' -o build/lab/$(or $(NAME),$(OP))/ ./cmd/triad
	build/lab/$(or $(NAME),$(OP))/triad setup --yes --gpu build/lab/$(or $(NAME),$(OP)) --kernels $(OP)
	cp results/lab.sh build/lab/
	tar -C build/lab -cJf build/lab/$(or $(NAME),$(OP)).tar.xz lab.sh $(or $(NAME),$(OP))

# PACKAGES narrows what is tested, SKIP names tests that are left out. What is downloaded and what is compiled goes side by side. With TRIAD_TEST_ALL=1, as in .ci/run, whatever is
# missing, skipped or over its budget is a failure; otherwise it is told at the end.
PACKAGES ?= ./...
SKIP ?=

test:
	@mkdir -p build
	$(GO) build -o build/ ./cmd/triad ./internal/testreport
	@$(MAKE) --no-print-directory -j2 vet set-up
	$(GO) test -json -vet=off -timeout 60m $(if $(SKIP),-skip '$(SKIP)') $(PACKAGES) | tee build/test.json | build/testreport -budgets .ci/budgets $(if $(TRIAD_TEST_ALL),-ci)

# What only a GPU reaches is run by the tests, on the fake GPU where it takes one: .ci/gpu-lines lists the files, and what of them may be left.
# Only those tests run that reach it.
COVERED = triad/cmd/triad,triad/internal/run,triad/internal/timing,triad/internal/stats,triad/internal/report,triad/internal/worker,triad/cuda,triad/cuda/gpuworker
cover = $(GO) test -vet=off -cover -coverpkg=$(COVERED) $(1) -args -test.gocoverdir=$(CURDIR)/build/cover
gpu-coverage:
	@rm -rf build/cover; mkdir -p build/cover
	TRIAD_TEST_COVER=$(CURDIR)/build/cover $(call cover,./cmd/triad \
		-run 'FakeGPU$$|GPUIs|GPUBy|GPUFalls|GPURemark|GPUHidden|ForTheGPU|DeviceFlags|Sanitize|Profile|Covered|Clock|PanicIs|Probes')
	$(call cover,./internal/run ./internal/timing ./internal/stats ./internal/report -skip EveryElementOfATimedCase)
	$(call cover,./internal/worker ./cuda ./cuda/gpuworker \
		-run 'Measur|Arm|Step|Rotation|Evened|Timed|Runtime|Time|Ask|Find|Report|Clean|Under')
	$(GO) tool covdata textfmt -i=build/cover -o build/gpu.cover
	$(GO) run ./internal/gpucoverage -profile build/gpu.cover -list .ci/gpu-lines

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

# What is made from the operators' rooms, after one was added or changed: the list of imports, the books of the judge, the tables of relations, power and
# costs, the pages of findings and of the catalogue.
generated:
	$(GO) test ./internal/truth/all -run '^TestAllListsEveryOperator$$' -update
	$(GO) test ./internal/truth -run '^(TestVersionNamesTheAllowances|TestRelationsPage)$$' -update
	$(GO) test ./internal/run -run '^TestPower$$' -update
	$(GO) test . -run '^TestLineBudgets$$' -update
	$(GO) test ./cuda -run '^TestWgmmaOperandLists$$' -update
	@mkdir -p build
	$(GO) run ./cmd/triad ops findings > build/findings.md && cp build/findings.md docs/findings.md
	$(GO) run ./cmd/triad ops catalogue > build/catalogue.md && cp build/catalogue.md docs/catalogue.md

$(ruff): .ci/ruff.txt
	python3 -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes --upgrade --target build/ruff -r .ci/ruff.txt
	@touch $@

set-up:
	build/triad setup --yes --nvcc

# The tuning seed, or SEEDS=n fresh ones; every operator, or OP=name. The last line is the score; a survivor is named above it.
mutation:
	@rm -rf build/mutation; mkdir -p build/mutation
	@TRIAD_MUTATION_SEEDS=$(SEEDS) TRIAD_MUTATION_PEERS=$(PEERS) TRIAD_MUTATION_SCORE=$(CURDIR)/build/mutation \
		$(GO) test -count=1 -timeout 120m -run '^TestMutation$$' ./internal/catalog/$(or $(OP),...); status=$$?; \
		TRIAD_MUTATION_PEERS=$(PEERS) $(GO) run ./internal/mutationscore build/mutation | tee build/mutation.txt; exit $$status

# What takes longer: more seeds for the judge, the whole catalogue on this machine's CPU, every kernel for sm_75 to sm_120, the kills of the store again
# and again, fuzzing.
test-long:
	$(MAKE) mutation SEEDS=25
	@mkdir -p build
	$(GO) run ./cmd/triad compare all --quick --device cpu --db build/all.db
	$(GO) run ./cmd/triad gradcheck all --quick --device cpu --db build/all.db
	TRIAD_TEST_LONG=1 $(GO) test -count=1 -timeout 90m -run '^(TestKernelsCompile.*|TestEmulatorWarpMatrix|TestEmulatorUnderClang|Test.*AttentionForHopper)$$' ./cuda
	TRIAD_TEST_LONG=1 $(GO) test -count=1 -timeout 90m -run '^(TestOwnFiles|TestFakeGPUWrongFiles|TestOwnMutants|TestWrongKernels)$$' ./cmd/triad
	TRIAD_TEST_LONG=1 TRIAD_TEST_FILES=100 $(GO) test -count=1 -timeout 60m \
		-run '^(TestFindingsShow|TestSecondTruth|TestManyFiles)$$' ./cmd/triad
	TRIAD_TEST_LONG=1 $(GO) test -count=1 -timeout 90m -run '^(TestSanitizersAreSilent|TestZoo(UnderClang)?|TestPrograms)$$' ./internal/check
	TRIAD_TEST_LONG=1 $(GO) test -count=1 -timeout 60m -run 'ByRows|InvariantsOfParts|ComplexStepAgrees' ./internal/truth
	TRIAD_TEST_LONG=1 $(GO) test -count=1 -timeout 60m -run '^TestPython$$/test_(gpu_code|operators|compile|worker)' ./pybridge
	TRIAD_TEST_LONG=1 $(GO) test -count=1 -timeout 60m -run '^TestPackage$$/(tests|documents)$$' ./pybridge/python
	TRIAD_TEST_PYTHONS="$(PYTHONS)" $(GO) test -count=1 -timeout 60m -run '^TestPackage$$/wheel' ./pybridge/python
	TRIAD_TEST_LONG=1 $(GO) test -count=1 -timeout 60m -run '^TestPower$$' -v ./internal/run
	TRIAD_TEST_LONG=1 $(GO) test -count=1 -timeout 90m -run '^TestStampedOperator$$' -v ./internal/room
	TRIAD_TEST_LONG=1 $(GO) test -count=1 -timeout 120m -run '^TestCheckKernels$$' -v ./cmd/triad
	TRIAD_TEST_LONG=1 $(GO) test -count=1 -timeout 60m -run '^(TestSlurm|TestRay)$$' -v ./cmd/triad
	$(GO) test -timeout 60m -count=5 -run 'KillsLose|CutOften|Writers' ./results
	TRIAD_TEST_LONG=1 $(GO) test -timeout 120m -count=1 -run 'KillsOfTheCommand|PowerCut' -v ./results
	$(GO) test -run '^$$' -fuzz '^FuzzSource$$' -fuzztime 30s ./cuda/rewrite
	$(GO) test -run '^$$' -fuzz '^FuzzExpression$$' -fuzztime 30s ./internal/op
	$(GO) test -run '^$$' -fuzz '^FuzzLoad$$' -fuzztime 30s ./internal/op
	$(GO) test -run '^$$' -fuzz '^FuzzCaseKey$$' -fuzztime 30s ./internal/op
	$(GO) test -run '^$$' -fuzz '^FuzzReadSafetensors$$' -fuzztime 30s ./internal/tensor

bench:
	$(GO) test -run '^$$' -bench Emulator -benchtime 1x ./cuda
	$(GO) test -run '^$$' -bench . -benchtime 1x ./internal/catalog/...
	$(GO) test -run '^$$' -bench Verdict -benchtime 3x ./internal/run
	$(GO) test -run '^$$' -bench Overhead -benchtime 1x ./pybridge/python

database:
	results/published/database.sh $(PARTS)
	$(GO) run ./results/published

public:
	$(GO) build -o build/ ./cmd/triad
	$(GO) run ./internal/publicfiles -folder "$(FOLDER)" -batch "$(BATCH)" $(if $(WRITE),-write)

wheel:
	$(MAKE) release PYTHONS=python3

# All of PYTHONS have to be here, with headers; release/build.Dockerfile has them in containers.
PYTHONS ?= python3.11 python3.12 python3.13 python3.14
release: build
	rm -rf build/gpu && mkdir -p build/gpu && cp -r bin/triad-cuda bin/kernels build/gpu/
	GO="$(GO)" python3 release/wheels.py --gpu build/gpu --dist dist $(PYTHONS)

clean:
	rm -rf bin build dist

.PHONY: generated lint format gpu-coverage build figures wheel release test vet set-up mutation test-long bench database clean
