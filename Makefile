# make          build the driver into bin/
# make test     every test: Go, Python, emulator; fetches what they need on first use
# make bench    the emulator's costs
# make clean    remove what was built here

GO ?= go
export TRIAD_TEST_SETUP = 1

build:
	$(GO) build -o bin/ ./cmd/...

test:
	$(GO) vet ./...
	$(GO) run ./cmd/triad setup --yes --nvcc
	$(GO) test -timeout 20m ./...

clean:
	rm -rf bin build dist

.PHONY: build test clean
