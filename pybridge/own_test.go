package pybridge

import (
	"context"
	"slices"
	"testing"
	"time"

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

// TestExtensionsOfAFormatsCheck: what a submission compiles in its format's own check lies with what its
// worker compiles, apart from that of other submissions. They may all call it the same, and two checks that
// ran at once were given one another's kernels.
func TestExtensionsOfAFormatsCheck(t *testing.T) {
	e, _ := fakeEnvironment(t)
	for _, folder := range []string{"/c/first", "/c/second"} {
		c, err := CheckCommand(e, "/c", "/problem", "/kernel.cu", folder)(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := sandbox.ExtensionsName + "=" + extensionsOf("/c", folder)
		if !slices.Contains(c.Env, want) {
			t.Errorf("%s is not in %q", want, c.Env)
		}
	}
}

// TestImportLimits: an import that demonstrates in the interpreter is ended after a minute. On a GPU it
// compiles extensions and has the time of a build, unless the user says another.
func TestImportLimits(t *testing.T) {
	asked := worker.DefaultLimits
	asked.Build = 7 * time.Second
	for _, c := range []struct {
		l    worker.Limits
		gpu  bool
		want time.Duration
	}{
		{worker.DefaultLimits, false, time.Minute},
		{worker.DefaultLimits, true, worker.DefaultLimits.Build},
		{asked, false, asked.Build},
		{asked, true, asked.Build},
	} {
		if l := importLimits(c.l, c.gpu); l.Build != c.want {
			t.Errorf("with %v, GPU %v: %v, want %v", c.l.Build, c.gpu, l.Build, c.want)
		}
	}
}
