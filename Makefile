# make          build triad, and for GPU machines triad-cuda and the kernel libraries, into bin/; fetches nvcc where there is none
# make test     every test: Go, Python, emulator; fetches what they need on first use
# make bench    the emulator's costs
# make clean    remove what was built here

GO ?= go
export TRIAD_TEST_SETUP = 1

build:
	$(GO) build -trimpath -o bin/ ./cmd/triad
	bin/triad setup --yes --gpu bin

test:
	$(GO) vet ./...
	$(GO) run ./cmd/triad setup --yes --nvcc
	$(GO) test -timeout 20m ./...

clean:
	rm -rf bin build dist

.PHONY: build test clean
