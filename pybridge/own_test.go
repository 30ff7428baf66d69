package pybridge

import (
	"context"
	"slices"
	"testing"

	"triad/internal/sandbox"
	"triad/internal/worker"
)

// TestExtensionsOfEachFile: two files may call the extensions that they compile the same. Each has a folder
// of its own; in a sandbox that of the cache is not there, and its home has one.
func TestExtensionsOfEachFile(t *testing.T) {
	first, again, other := extensionsOf("c", "a"), extensionsOf("c", "a"), extensionsOf("c", "b")
	if first != again || first == other {
		t.Errorf("the folders of a, a and b are %q, %q and %q", first, again, other)
	}
	adapter := &worker.Adapter{Command: func(context.Context) (worker.Command, error) {
		return worker.Command{Env: []string{"PATH=/bin"}}, nil
	}}
	Extensions(adapter, "/c/1")
	c, err := adapter.Command(t.Context())
	if err != nil || !slices.Contains(c.Env, "TORCH_EXTENSIONS_DIR=/c/1") {
		t.Errorf("%v, %v", c.Env, err)
	}
	if !slices.Contains(sandbox.Environment(), "TORCH_EXTENSIONS_DIR=/tmp/home/.cache/torch_extensions") {
		t.Errorf("in a sandbox: %v", sandbox.Environment())
	}
}
