package rownames_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"triad"
	"triad/internal/catalog"
	"triad/internal/rownames"
)

// TestRecordedNamesAreFound: each implementation of the published sessions is read from the sources.
func TestRecordedNamesAreFound(t *testing.T) {
	files, err := filepath.Glob("../../results/published/h200/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, ".sessions.jsonl") {
			continue
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			head := struct {
				Op   string `json:"op"`
				Impl string `json:"impl"`
			}{}
			if err := json.Unmarshal(lines.Bytes(), &head); err != nil || head.Op == "" || head.Impl == "" {
				t.Fatalf("%s: %v: %.200s", file, err, lines.Text())
			}
			if name := head.Op + " " + head.Impl; !seen[name] {
				seen[name] = true
				if !slices.Contains(rownames.Of(triad.Files, head.Op), head.Impl) {
					t.Errorf("%s is not found", name)
				}
			}
		}
		f.Close()
	}
	if len(seen) < 200 {
		t.Errorf("%d names are recorded", len(seen))
	}
}

// TestSpread: it lists the implementations on two GPUs and leaves out those on one.
func TestSpread(t *testing.T) {
	sources := fstest.MapFS{
		"cuda/kernels/both.cu": {Data: []byte("TRIAD_KERNEL(both, naive, forward, .launch(f))\n" +
			"TRIAD_KERNEL(both, peer, forward,\n             .outputs(1).devices(2).launch(g))\n" +
			"TRIAD_KERNEL(both, peer, backward, .devices(2))\nTRIAD_KERNEL(both, vec, forward, h)\n")},
		"cuda/kernels/one.cu": {Data: []byte("// .devices(2)\nTRIAD_KERNEL(one, a, forward, f)")},
		"triton/both.py": {Data: []byte("from implementation import Implementation\n# devices=2\n" +
			"Implementation(\"torch/eager\", f), Implementation(\"torch/halves\", g,\n  devices=2)\n")},
		"triton/python.py": {Data: []byte("Implementation(\n\"torch/halves\", g, devices=2)\n")},
	}
	for name, want := range map[string]string{
		"both": "[cuda/peer torch/halves]", "one": "[]", "none": "[]", "python": "[torch/halves]",
	} {
		if got := fmt.Sprint(rownames.Spread(sources, name, nil)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	spread := 0
	for _, name := range catalog.Names() {
		spread += len(rownames.Spread(triad.Files, name, nil))
	}
	if spread != 6 {
		t.Errorf("%d implementations of the catalog are on two GPUs, want 6", spread)
	}
}

// TestMissing: a prefix that nothing can match is found, with what there is; a family alone, one of the
// user's own and one that the sources do not tell are left to the run.
func TestMissing(t *testing.T) {
	sources := fstest.MapFS{
		"cuda/kernels/made_up.cu": {Data: []byte("TRIAD_KERNEL(made_up, naive, forward, .launch(f))\n" +
			"TRIAD_KERNEL(made_up, warp, forward,\n.launch(g))\nTRIAD_KERNEL(made_up, naive, backward, h)\n" +
			"TRIAD_KERNEL(another, vec, forward, h)\n")},
		"triton/made_up.py":             {Data: []byte("from shared import fill\nRow(\"triton/row\")\n")},
		"pybridge/operators/shared.py":  {Data: []byte("Row(\"torch/eager\")\n")},
		"pybridge/operators/another.py": {Data: []byte("Row(\"torch/compile\")\n")},
	}
	if got := strings.Join(rownames.Of(sources, "made_up"), " "); got != "cuda/naive cuda/warp torch/eager "+
		"triton/row" {
		t.Errorf("names %s", got)
	}
	for _, c := range []struct{ asked, missing, has string }{
		{"cuda/wrap", "cuda/wrap", "cuda/warp"},
		{"triton/zzz", "triton/zzz", "triton/row"},
		{"cuda", "", ""},
		{"cuda/warp", "", ""},
		{"cuda/na", "", ""},
		{"mine/anything", "", ""},
		{"torch/eager", "", ""},
		{"fa4/none", "", ""},
	} {
		missing := rownames.Missing(sources, "made_up", []string{"cuda/naive", c.asked})
		if len(missing) > 0 != (c.missing != "") || len(missing) > 0 && (missing[0].Prefix != c.missing ||
			!slices.Contains(missing[0].Have, c.has)) {
			t.Errorf("%s: %v", c.asked, missing)
		}
	}
}
